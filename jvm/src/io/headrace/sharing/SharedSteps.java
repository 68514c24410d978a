package io.headrace.sharing;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.CollectMetrics;
import org.apache.spark.sql.catalyst.plans.logical.Deduplicate;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.execution.CollectMetricsExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.DataType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The steps of a plan that are run once, although they stand in it several times.
 *
 * <p>A step is known by the name that its counts are observed under, which no other step has.
 */
final class SharedSteps {
    /** How often each is there, and its columns; none if copies of it have different ones. */
    private final Map<String, Integer> copies = new HashMap<>();

    private final Map<String, List<DataType>> columns = new HashMap<>();
    private final Map<String, SharedRows> shared = new HashMap<>();

    private SharedSteps() {}

    static SharedSteps of(LogicalPlan plan) {
        SharedSteps steps = new SharedSteps();
        steps.look(plan);
        return steps;
    }

    private void look(LogicalPlan node) {
        if (node instanceof CollectMetrics counted && canBeShared(counted)) {
            copies.merge(counted.name(), 1, Integer::sum);
            columns.merge(
                    counted.name(),
                    typesOf(counted),
                    (one, other) -> one.equals(other) ? one : List.of());
        }
        CollectionConverters.asJava(node.children()).forEach(this::look);
    }

    /**
     * Gives the operator of a step.
     *
     * @param later gives the operators of what is below it
     * @return null if it is one of Spark's own, as the step is not shared
     */
    SparkPlan planned(CollectMetrics step, Function<LogicalPlan, SparkPlan> later) {
        String name = step.name();
        if (copies.getOrDefault(name, 0) < 2 || columns.get(name).isEmpty()) {
            return null;
        }
        SharedRows before = shared.get(name);
        if (before != null) {
            return SharedAgain.of(before, step.output(), watermark(step));
        }
        SharedRows rows = new SharedRows(name);
        shared.put(name, rows);
        SparkPlan child = later.apply(step.child());
        return new Shared(rows, new CollectMetricsExec(name, step.metrics(), child));
    }

    /**
     * Whether there is state below, and all of it in operators of ours. Behind those the watermark
     * is that of the batch; Spark's own hold it back by what they know.
     */
    private static boolean canBeShared(CollectMetrics step) {
        return step.exists(node -> node instanceof TransformWithState)
                && !step.exists(SharedSteps::holdsBack);
    }

    private static boolean holdsBack(LogicalPlan node) {
        boolean isSparks =
                node instanceof Aggregate || node instanceof Join || node instanceof Deduplicate;
        return isSparks && node.isStreaming();
    }

    /** What a step's watermark comes from; null if it has none. */
    private static EventTimeWatermark watermark(LogicalPlan step) {
        var found = step.find(node -> node instanceof EventTimeWatermark);
        return found.isEmpty() ? null : (EventTimeWatermark) found.get();
    }

    private static List<DataType> typesOf(LogicalPlan node) {
        List<Attribute> output = CollectionConverters.asJava(node.output());
        return output.stream().map(Attribute::dataType).toList();
    }
}
