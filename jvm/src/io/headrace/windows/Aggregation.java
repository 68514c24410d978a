package io.headrace.windows;

import static org.apache.spark.sql.functions.expr;

import io.headrace.formats.ScalaLists;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.planning.PhysicalAggregation$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Aggregates as SQL names them, resolved by Spark and ready to be run event by event.
 *
 * <p>Made on the driver, and sent to tasks with the operator that has it. Buffers that one task has
 * stored can be loaded and merged by another, as long as the aggregates and the input are the same:
 * the fields of a stored buffer are those of Spark's functions, in the order of the aggregates.
 */
public final class Aggregation implements Serializable {
    private static final long serialVersionUID = 1L;

    private final transient Meaning meaning;
    private final transient SentAggregation sent;
    private final transient Queue<Evaluator> idle = new ConcurrentLinkedQueue<>();

    /** The aggregates, in terms of Spark's. */
    record Meaning(
            ArrayList<Attribute> input,
            ArrayList<AggregateExpression> calls,
            ArrayList<Expression> results,
            StructType schema)
            implements Serializable {
        Evaluator evaluator() {
            return new Evaluator(input, calls, results);
        }
    }

    Aggregation(Meaning meaning, SentAggregation sent) {
        this.meaning = meaning;
        this.sent = sent;
    }

    /**
     * Resolves aggregates.
     *
     * @param spark the session, whose settings hold for the aggregates, ANSI mode among them
     * @param input the columns of an event
     * @param names what the results are called
     * @param expressions for each name the text of an SQL expression of aggregate functions
     * @throws IllegalArgumentException a text is none that can be computed event by event, with
     *     the same result whenever it is computed again
     */
    public static Aggregation of(
            SparkSession spark, StructType input, List<String> names, List<String> expressions) {
        if (names.isEmpty() || names.size() != expressions.size()) {
            throw new IllegalArgumentException(
                    names.size() + " names came for " + expressions.size() + " aggregates");
        }
        List<Column> columns = new ArrayList<>();
        for (int i = 0; i < names.size(); i++) {
            columns.add(expr(expressions.get(i)).as(names.get(i)));
        }
        // The optimizer would compute the aggregates of a local relation without rows at once.
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        Dataset<Row> events = spark.createDataFrame(context.<Row>emptyRDD(), input);
        Column[] others = columns.subList(1, columns.size()).toArray(Column[]::new);
        Dataset<Row> aggregated = events.agg(columns.get(0), others);

        Repeatable.require(aggregated.queryExecution().analyzed());
        List<Attribute> attributes = ScalaLists.list(events.queryExecution().analyzed().output());
        LogicalPlan plan = aggregated.queryExecution().optimizedPlan();
        return resolved(plan, attributes, aggregated.schema());
    }

    /** The columns of a result: the names, in order. */
    public StructType result() {
        return meaning.schema;
    }

    /**
     * Gives what runs the aggregates: one for a task, as making one takes longer than many a batch.
     * When the task ends, it is there for the next.
     *
     * <p>Each has expressions of its own: a lambda's variable, for one, is a field of Spark's
     * expression, and tasks side by side would write into it.
     */
    public Evaluator evaluator() {
        Evaluator used = idle.poll();
        Evaluator given = used != null ? used : sent.meaning().evaluator();
        TaskContext task = TaskContext.get();
        if (task != null) {
            TaskCompletionListener ended = ending -> idle.add(given);
            task.addTaskCompletionListener(ended);
        }
        return given;
    }

    @Override
    public String toString() {
        return meaning.results.toString();
    }

    private Object writeReplace() {
        return sent;
    }

    /** Takes apart the one aggregate of a plan, with projections before and after it. */
    private static Aggregation resolved(
            LogicalPlan plan, List<Attribute> input, StructType schema) {
        List<Expression> results = new ArrayList<>(ScalaLists.list(plan.output()));
        LogicalPlan left = plan;
        while (left instanceof Project after) {
            results = inlined(results, after.projectList());
            left = after.child();
        }
        if (!(left instanceof Aggregate)) {
            throw unlike(left);
        }
        var found = PhysicalAggregation$.MODULE$.unapply(left).get();
        results = inlined(results, found._3());
        List<Expression> calls = new ArrayList<>(ScalaLists.list(found._2()));
        left = found._4();
        while (left instanceof Project before) {
            calls = inlined(calls, before.projectList());
            left = before.child();
        }
        if (!(left instanceof LogicalRDD)) {
            throw unlike(left);
        }
        List<AggregateExpression> resolved = new ArrayList<>();
        for (Expression each : calls) {
            AggregateExpression call = (AggregateExpression) each;
            AggregateFunction function = call.aggregateFunction();
            if (!(function instanceof DeclarativeAggregate)
                    && !(function instanceof ImperativeAggregate)) {
                throw new IllegalArgumentException(
                        "`" + call.sql() + "` is not computed by Spark's own functions");
            }
            resolved.add(call);
        }
        return SentAggregation.of(
                new Meaning(
                        new ArrayList<>(input),
                        new ArrayList<>(resolved),
                        new ArrayList<>(results),
                        schema));
    }

    private static IllegalArgumentException unlike(LogicalPlan node) {
        return new IllegalArgumentException(
                "aggregates are computed event by event, and these need Spark's "
                        + node.nodeName());
    }

    /** Puts what a projection computes in the place of the names it gives it. */
    private static List<Expression> inlined(
            List<Expression> expressions, scala.collection.immutable.Seq<NamedExpression> named) {
        Map<ExprId, Expression> meanings = new HashMap<>();
        for (NamedExpression each : ScalaLists.<NamedExpression>list(named)) {
            if (each instanceof Alias alias) {
                meanings.put(alias.exprId(), alias.child());
            }
        }
        return expressions.stream().map(each -> inlined(each, meanings)).toList();
    }

    private static Expression inlined(Expression expression, Map<ExprId, Expression> meanings) {
        if (expression instanceof Attribute attribute) {
            return meanings.getOrDefault(attribute.exprId(), attribute);
        }
        List<Expression> children = new ArrayList<>();
        for (Expression child : ScalaLists.<Expression>list(expression.children())) {
            children.add(inlined(child, meanings));
        }
        return expression.withNewChildren(ScalaLists.seq(children));
    }
}
