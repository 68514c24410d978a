package io.headrace.delivery;

import static org.apache.spark.sql.functions.col;

import java.io.Serializable;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;

/**
 * The outgoing rows of a batch: computed where they are written if one job writes them all, kept
 * and counted beforehand if several do.
 */
final class OutgoingBatch implements AutoCloseable {
    private final Dataset<Row> rows;
    private final FewRows few;
    private final KeptRows kept;
    private final Map<Integer, Counted> counted;

    /** What there is for one sink; the checksum is the one that a {@link Tally} of all would give. */
    record Counted(long rows, long checksum, long bytes) implements Serializable {
        static final Counted NONE = new Counted(0, 0, 0);

        Counted and(Counted more) {
            return new Counted(
                    rows + more.rows, checksum + more.checksum, bytes + more.bytes);
        }
    }

    private OutgoingBatch(
            Dataset<Row> rows, FewRows few, KeptRows kept, Map<Integer, Counted> counted) {
        this.rows = rows;
        this.few = few;
        this.kept = kept;
        this.counted = counted;
    }

    /**
     * For the single job of all topics, which computes the rows as it writes them.
     *
     * @param isSmall whether one task is enough to compute them, where one lane is to write them
     */
    static OutgoingBatch computedOnce(Dataset<Row> batch, boolean isSmall) {
        FewRows few = isSmall ? FewRows.of(batch) : null;
        return new OutgoingBatch(few == null ? OutgoingRows.of(batch) : null, few, null, null);
    }

    /**
     * For several jobs beside each other.
     *
     * <p>All rows are there before the first job begins: two that met over a part which is not there
     * yet would each compute it, in different executors, and its state twice.
     *
     * @param places the sinks to count for
     */
    static OutgoingBatch kept(Dataset<Row> batch, List<Integer> places) {
        KeptRows kept = KeptRows.of(OutgoingRows.of(batch));
        try {
            return new OutgoingBatch(null, null, kept, kept.count(places));
        } catch (RuntimeException problem) {
            kept.close();
            throw problem;
        }
    }

    /** The rows of some sinks; those of a single job are all. */
    Dataset<Row> to(List<Integer> places) {
        return isKept()
                ? kept.frame().where(col(OutgoingRows.SINK).isInCollection(places))
                : rows;
    }

    /** Runs a task on each lane of the rows of some sinks; gives what the tasks give. */
    List<String> inLanes(List<Integer> places, int lanes, LaneTask task) {
        if (few != null) {
            return few.inOneLane(task);
        }
        if (isKept() && lanes == 1) {
            return kept.inOneLane(places, task);
        }
        return OutgoingRows.inLanes(to(places), lanes)
                .mapPartitions(task, Encoders.STRING())
                .collectAsList();
    }

    /** What there is for a sink, of a batch that is kept. */
    Counted counted(int place) {
        return counted.get(place);
    }

    /** Lets go of rows that were kept. */
    @Override
    public void close() {
        if (isKept()) {
            kept.close();
        }
    }

    private boolean isKept() {
        return kept != null;
    }
}
