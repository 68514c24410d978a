package io.headrace.delivery;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.Dependency;
import org.apache.spark.NarrowDependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.DataType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A batch of few rows, which the task of its one lane computes as it writes them.
 *
 * <p>To compute them in several tasks, Spark plans the batch a second time, generates code for that
 * and shuffles: most of what a batch of ten events costs.
 */
final class FewRows {
    private final RDD<InternalRow> rows;

    private FewRows(RDD<InternalRow> rows) {
        this.rows = rows;
    }

    /**
     * Gives the rows, if a single task can compute them all; null if not.
     *
     * <p>Behind a shuffle it would do the work of many tasks, and with it that of state stores,
     * which belong to a task each.
     */
    static FewRows of(Dataset<Row> batch) {
        var frame = (org.apache.spark.sql.classic.Dataset<Row>) batch;
        boolean isAsGiven =
                DataType.equalsIgnoreNullability(batch.schema(), OutgoingRows.GIVEN);
        if (isAsGiven
                && frame.queryExecution().logical() instanceof LogicalRDD planned
                && isNarrow(planned.rdd())) {
            return new FewRows(planned.rdd());
        }
        return null;
    }

    /** Runs a task on all rows, in the order of their places; gives what it gives. */
    List<String> inOneLane(LaneTask task) {
        RDD<InternalRow> one = KeptRows.one(rows.toJavaRDD()).rdd();
        return new LaneRows(one, task).toJavaRDD().collect();
    }

    private static boolean isNarrow(RDD<?> rows) {
        Set<Integer> seen = new HashSet<>();
        Deque<RDD<?>> ahead = new ArrayDeque<>(List.of(rows));
        while (!ahead.isEmpty()) {
            RDD<?> next = ahead.pop();
            if (!seen.add(next.id())) {
                continue;
            }
            for (Dependency<?> on : CollectionConverters.asJava(next.dependencies())) {
                if (!(on instanceof NarrowDependency)) {
                    return false;
                }
                ahead.push(on.rdd());
            }
        }
        return true;
    }
}
