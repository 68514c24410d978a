package io.headrace.sharing;

import io.headrace.formats.ScalaLists;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.CollectMetrics;
import org.apache.spark.sql.catalyst.plans.logical.Deduplicate;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.FlatMapGroupsWithState;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.execution.CollectMetricsExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.types.DataType;

/**
 * The steps of a plan that are run once, although they stand in it several times.
 *
 * <p>A step is known by the name that its counts are observed under, which no other step has. Copies
 * of which the optimizer has left different columns are all run: what one has, another lacks.
 */
final class SharedSteps {
    /** Notes on each copy of a step what its plan shares. */
    private static final TreeNodeTag<SharedSteps> FOUND = new TreeNodeTag<>("headrace.shared");

    private record Columns(List<String> names, List<DataType> types) {}

    private final Map<String, Columns> columns = new HashMap<>();
    private final Set<String> repeated = new HashSet<>();
    private final Set<String> different = new HashSet<>();
    private final Map<String, SharedRows> shared = new HashMap<>();

    private SharedSteps() {}

    /** Finds the steps of a plan, before any of it is planned. */
    static void find(LogicalPlan plan) {
        new SharedSteps().look(plan);
    }

    private void look(LogicalPlan node) {
        if (node instanceof CollectMetrics step && canBeShared(step)) {
            step.setTagValue(FOUND, this);
            Columns before = columns.putIfAbsent(step.name(), columnsOf(step));
            if (before != null && before.equals(columnsOf(step))) {
                repeated.add(step.name());
                // What is below it is run with the first copy.
                return;
            }
            if (before != null) {
                different.add(step.name());
            }
        }
        ScalaLists.<LogicalPlan>list(node.children()).forEach(this::look);
    }

    /**
     * Gives the operator of a step.
     *
     * @param later gives the operators of what is below it
     * @return null if it is one of Spark's own, as the step is not shared
     */
    static SparkPlan planned(CollectMetrics step, Function<LogicalPlan, SparkPlan> later) {
        var found = step.getTagValue(FOUND);
        return found.isEmpty() ? null : found.get().operator(step, later);
    }

    private SparkPlan operator(CollectMetrics step, Function<LogicalPlan, SparkPlan> later) {
        String name = step.name();
        if (!repeated.contains(name) || different.contains(name)) {
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
                node instanceof Aggregate
                        || node instanceof Join
                        || node instanceof Deduplicate
                        || node instanceof FlatMapGroupsWithState;
        return isSparks && node.isStreaming();
    }

    /** What a step's watermark comes from; null if it has none. */
    private static EventTimeWatermark watermark(LogicalPlan step) {
        var found = step.find(node -> node instanceof EventTimeWatermark);
        return found.isEmpty() ? null : (EventTimeWatermark) found.get();
    }

    private static Columns columnsOf(LogicalPlan node) {
        List<Attribute> output = ScalaLists.list(node.output());
        return new Columns(
                output.stream().map(Attribute::name).toList(),
                output.stream().map(Attribute::dataType).toList());
    }
}
