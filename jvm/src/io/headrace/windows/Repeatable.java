package io.headrace.windows;

import io.headrace.formats.ScalaLists;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern;

/** Refuses aggregates that give another result when the same events are aggregated again. */
final class Repeatable {
    /** Sketches that toss a coin for which values they keep. */
    private static final String TOSSING = "Kll";

    private Repeatable() {}

    static void require(LogicalPlan plan) {
        for (Expression expression : ScalaLists.<Expression>list(plan.expressions())) {
            require(expression);
        }
        for (LogicalPlan child : ScalaLists.<LogicalPlan>list(plan.children())) {
            require(child);
        }
    }

    private static void require(Expression expression) {
        List<Expression> children = ScalaLists.list(expression.children());
        if (expression.containsPattern(TreePattern.PLAN_EXPRESSION())) {
            throw refused(expression, "has a query inside");
        }
        if (children.isEmpty() && expression.containsPattern(TreePattern.CURRENT_LIKE())) {
            throw refused(expression, "depends on when and where it is computed");
        }
        if (expression instanceof AggregateExpression call && call.isDistinct()) {
            throw refused(expression, "is DISTINCT");
        }
        if (isRandom(expression, children)) {
            throw refused(expression, "gives another value each time it is computed");
        }
        children.forEach(Repeatable::require);
    }

    private static boolean isRandom(Expression expression, List<Expression> children) {
        if (expression instanceof AggregateFunction function) {
            // Spark also calls those random that depend on the order of events alone.
            return function.getClass().getSimpleName().startsWith(TOSSING);
        }
        return !expression.deterministic()
                && children.stream().allMatch(Expression::deterministic);
    }

    private static IllegalArgumentException refused(Expression expression, String fault) {
        return new IllegalArgumentException("`" + expression.sql() + "` " + fault);
    }
}
