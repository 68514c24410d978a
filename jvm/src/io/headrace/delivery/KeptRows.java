package io.headrace.delivery;

import io.headrace.delivery.OutgoingBatch.Counted;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.PartitionCoalescer;
import org.apache.spark.rdd.PartitionGroup;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.storage.StorageLevel;
import scala.Option;

/**
 * The rows of a batch, computed once and kept where they were computed, for several jobs.
 *
 * <p>Spark's cached frames do the same, and each job on one is planned, its tasks carry all that the
 * rows were computed by, and their counts are one more query. Beside a batch of a thousand rows that
 * is most of the work. Here a job that writes in one lane is not planned at all.
 */
final class KeptRows implements AutoCloseable {
    private final SparkSession session;
    private final StructType schema;
    private final RDD<InternalRow> rows;

    private KeptRows(SparkSession session, StructType schema, RDD<InternalRow> rows) {
        this.session = session;
        this.schema = schema;
        this.rows = rows;
    }

    /** Marks the rows for keeping; the first job on them, the one that counts, computes them. */
    static KeptRows of(Dataset<Row> outgoing) {
        var frame = (org.apache.spark.sql.classic.Dataset<Row>) outgoing;
        RDD<InternalRow> computed = frame.queryExecution().toRdd();
        RDD<InternalRow> kept =
                computed.toJavaRDD()
                        .map(InternalRow::copy)
                        .persist(StorageLevel.MEMORY_AND_DISK_SER())
                        .rdd();
        if (kept.sparkContext().isLocal()) {
            // Tasks need not know how to compute the rows again: here, what is kept is lost with
            // the driver alone. In a cluster it can be lost with an executor, and is computed anew.
            kept.localCheckpoint();
        }
        return new KeptRows(frame.sparkSession(), outgoing.schema(), kept);
    }

    /**
     * Computes the rows, and counts them.
     *
     * @param places the sinks to count for
     */
    Map<Integer, Counted> count(List<Integer> places) {
        Map<Integer, Counted> counted = new HashMap<>();
        places.forEach(place -> counted.put(place, Counted.NONE));
        List<Map<Integer, Counted>> parts =
                rows.toJavaRDD().mapPartitions(KeptRows::countedIn).collect();
        for (Map<Integer, Counted> part : parts) {
            part.forEach((place, more) -> counted.computeIfPresent(place, (p, all) -> all.and(more)));
        }
        return counted;
    }

    private static Iterator<Map<Integer, Counted>> countedIn(Iterator<InternalRow> rows) {
        Map<Integer, Counted> counted = new HashMap<>();
        while (rows.hasNext()) {
            InternalRow row = rows.next();
            counted.merge(OutgoingRows.sink(row), OutgoingRows.counted(row), Counted::and);
        }
        return Collections.singleton(counted).iterator();
    }

    /** All rows, as a frame. */
    Dataset<Row> frame() {
        return session.internalCreateDataFrame(rows, schema, false);
    }

    /** Runs a task on the rows of some sinks, in their order; gives what it gives. */
    List<String> inOneLane(List<Integer> places, LaneTask task) {
        Set<Integer> wanted = Set.copyOf(places);
        return one(rows.toJavaRDD().filter(row -> wanted.contains(OutgoingRows.sink(row))))
                .map(OutgoingRows::row)
                .mapPartitions(task)
                .collect();
    }

    /** Puts all partitions into one, in their order, which is that of the rows' places. */
    static JavaRDD<InternalRow> one(JavaRDD<InternalRow> rows) {
        return rows.rdd().coalesce(1, false, Option.apply(new InTurn()), null).toJavaRDD();
    }

    @Override
    public void close() {
        // As RDD.unpersist, which warns of each that cannot be computed again.
        SparkContext context = session.sparkContext();
        context.unpersistRDD(rows.id(), false);
    }

    private static final class InTurn implements PartitionCoalescer, Serializable {
        private static final long serialVersionUID = 1L;

        @Override
        public PartitionGroup[] coalesce(int most, RDD<?> parent) {
            List<PartitionGroup> groups = new ArrayList<>();
            if (parent.getNumPartitions() > 0) {
                PartitionGroup all = new PartitionGroup(Option.empty());
                for (Partition partition : parent.partitions()) {
                    all.partitions().addOne(partition);
                }
                groups.add(all);
            }
            return groups.toArray(PartitionGroup[]::new);
        }
    }
}
