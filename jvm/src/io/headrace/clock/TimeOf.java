package io.headrace.clock;

import io.headrace.formats.ScalaLists;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.plans.logical.CollectMetrics;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LeafNode;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The event time of a record, as the plan of its source has it, without a job of Spark's.
 *
 * <p>Not for two threads.
 */
final class TimeOf {
    private static final long MICROS = 1000;

    private final List<Attribute> columns;
    private final Deque<UnaryOperator<InternalRow>> steps;

    private TimeOf(List<Attribute> columns, Deque<UnaryOperator<InternalRow>> steps) {
        this.columns = columns;
        this.steps = steps;
    }

    /**
     * Reads a plan.
     *
     * @param rows of a topic, as Spark's Kafka source gives them and decoded row by row
     * @param micros the event time in microseconds, or null
     * @return null for a plan in which a row is not one record
     */
    static TimeOf of(Dataset<Row> rows, Column micros) {
        var asked = (org.apache.spark.sql.classic.Dataset<Row>) rows.select(micros);
        LogicalPlan plan =
                asked.sparkSession()
                        .sessionState()
                        .optimizer()
                        .execute(asked.queryExecution().analyzed());
        Deque<UnaryOperator<InternalRow>> steps = new ArrayDeque<>();
        while (!(plan instanceof LeafNode)) {
            if (plan instanceof Project project) {
                steps.addFirst(projecting(project));
            } else if (plan instanceof Filter filter) {
                steps.addFirst(keeping(filter));
            } else if (!(plan instanceof CollectMetrics)) {
                return null;
            }
            plan = plan.children().head();
        }
        return new TimeOf(ScalaLists.list(plan.output()), steps);
    }

    private static UnaryOperator<InternalRow> projecting(Project project) {
        List<Expression> columns =
                ScalaLists.list(project.projectList()).stream()
                        .map(Expression.class::cast)
                        .toList();
        UnsafeProjection projection =
                UnsafeProjection.create(ScalaLists.seq(columns), project.child().output());
        projection.initialize(0);
        return projection::apply;
    }

    private static UnaryOperator<InternalRow> keeping(Filter filter) {
        BasePredicate wanted =
                Predicate$.MODULE$.create(filter.condition(), filter.child().output());
        wanted.initialize(0);
        return row -> wanted.eval(row) ? row : null;
    }

    /** Gives the time in microseconds, if there is one. */
    OptionalLong of(ConsumerRecord<byte[], byte[]> record) {
        InternalRow row = row(record);
        for (UnaryOperator<InternalRow> step : steps) {
            row = step.apply(row);
            if (row == null) {
                return OptionalLong.empty();
            }
        }
        return row.isNullAt(0) ? OptionalLong.empty() : OptionalLong.of(row.getLong(0));
    }

    private InternalRow row(ConsumerRecord<byte[], byte[]> record) {
        return new GenericInternalRow(
                columns.stream().map(column -> value(column.name(), record)).toArray());
    }

    private static Object value(String column, ConsumerRecord<byte[], byte[]> record) {
        return switch (column) {
            case "key" -> record.key();
            case "value" -> record.value();
            case "topic" -> UTF8String.fromString(record.topic());
            case "partition" -> record.partition();
            case "offset" -> record.offset();
            case "timestamp" -> record.timestamp() * MICROS;
            case "timestampType" -> record.timestampType().id;
            case "headers" -> headers(record);
            default -> throw new IllegalStateException("Spark's Kafka source has a " + column);
        };
    }

    private static GenericArrayData headers(ConsumerRecord<byte[], byte[]> record) {
        Header[] headers = record.headers().toArray();
        if (headers.length == 0) {
            return null;
        }
        Object[] rows = new Object[headers.length];
        for (int i = 0; i < rows.length; i++) {
            Object[] header = {UTF8String.fromString(headers[i].key()), headers[i].value()};
            rows[i] = new GenericInternalRow(header);
        }
        return new GenericArrayData(rows);
    }
}
