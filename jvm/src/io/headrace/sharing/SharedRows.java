package io.headrace.sharing;

import io.headrace.batches.RunningBatch;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.storage.StorageLevel;

/**
 * The rows that a step gives in one batch, for all that follow it.
 *
 * <p>The first task that asks for a partition computes it, and the others wait for that; on a
 * cluster a job of its own computes them all. Rows are kept until the query's next batch asks for
 * the same step: on the heap, or on disk if they are too many. Rows that are lost with an executor
 * are computed again from the state that the batch began with, as for any task that is run twice.
 */
public final class SharedRows {

    /** What the queries of this process keep; a query that has ended holds nothing. */
    private static final Map<String, WeakReference<RDD<InternalRow>>> KEPT =
            new ConcurrentHashMap<>();

    private final String name;
    private SparkPlan step;
    private RDD<InternalRow> rows;

    SharedRows(String name) {
        this.name = name;
    }

    /** Whether this thread plans or runs a batch of a stream. */
    static boolean isInStream(SparkSession session) {
        return session.sparkContext().getLocalProperty(RunningBatch.QUERY) != null;
    }

    /** Takes the node that computes them, as it stands in the plan that is run. */
    synchronized void computedBy(SparkPlan node) {
        step = node;
    }

    synchronized RDD<InternalRow> rows() {
        if (rows == null) {
            RDD<InternalRow> computed = step.execute();
            // A node gives the same object again and again, with other values.
            JavaRDD<InternalRow> copied =
                    new JavaRDD<>(computed, computed.elementClassTag()).map(InternalRow::copy);
            rows = copied.rdd();
            rows.persist(StorageLevel.MEMORY_AND_DISK());
            SparkContext context = rows.sparkContext();
            KEPT.values().removeIf(one -> one.get() == null);
            String kept = context.getLocalProperty(RunningBatch.QUERY) + "/" + name;
            forget(KEPT.put(kept, new WeakReference<>(rows)), context);
            if (!context.isLocal()) {
                // Two executors would both compute a partition that neither has yet, and what
                // is counted on the way be counted twice.
                copied.foreachPartition(partition -> {});
            }
        }
        return rows;
    }

    private static void forget(WeakReference<RDD<InternalRow>> before, SparkContext context) {
        RDD<InternalRow> old = before == null ? null : before.get();
        if (old != null && old.sparkContext() == context) {
            old.unpersist(false);
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
