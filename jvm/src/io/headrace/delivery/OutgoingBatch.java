package io.headrace.delivery;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.length;
import static org.apache.spark.sql.functions.shiftright;
import static org.apache.spark.sql.functions.sum;
import static org.apache.spark.sql.functions.when;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.storage.StorageLevel;

/**
 * The outgoing rows of a batch: computed where they are written if one job writes them all, kept
 * and counted beforehand if several do.
 */
final class OutgoingBatch implements AutoCloseable {
    private static final long LOW_HALF = 0xffff_ffffL;
    private static final int HALF_BITS = 32;

    private final Dataset<Row> rows;
    private final Map<Integer, Counted> counted;

    /** What there is for one sink; the checksum is the one that a {@link Tally} of all would give. */
    record Counted(long rows, long checksum, long bytes) {}

    private OutgoingBatch(Dataset<Row> rows, Map<Integer, Counted> counted) {
        this.rows = rows;
        this.counted = counted;
    }

    /** For a single job, which computes the rows as it writes them. */
    static OutgoingBatch computedOnce(Dataset<Row> batch) {
        return new OutgoingBatch(OutgoingRows.of(batch), null);
    }

    /**
     * For several jobs beside each other.
     *
     * <p>All rows are there before the first job begins: two that met over a part which is not there
     * yet would each compute it, in different executors, and its state twice.
     *
     * @param places the sinks to count for, at least one
     */
    static OutgoingBatch kept(Dataset<Row> batch, List<Integer> places) {
        Dataset<Row> rows = OutgoingRows.of(batch).persist(StorageLevel.MEMORY_AND_DISK_SER());
        try {
            return new OutgoingBatch(rows, counted(rows, places));
        } catch (RuntimeException problem) {
            rows.unpersist();
            throw problem;
        }
    }

    /** All rows. */
    Dataset<Row> rows() {
        return rows;
    }

    /** The rows of some sinks. */
    Dataset<Row> to(List<Integer> places) {
        return rows.where(col(OutgoingRows.SINK).isInCollection(places));
    }

    /** What there is for a sink, of a batch that is kept. */
    Counted counted(int place) {
        return counted.get(place);
    }

    boolean isKept() {
        return counted != null;
    }

    /** Lets go of rows that were kept. */
    @Override
    public void close() {
        if (isKept()) {
            rows.unpersist();
        }
    }

    /** Counts in one pass, the one that computes the rows. */
    private static Map<Integer, Counted> counted(Dataset<Row> rows, List<Integer> places) {
        List<Column> asked = new ArrayList<>();
        for (int place : places) {
            Column isFor = col(OutgoingRows.SINK).equalTo(place);
            Column checksum = col(OutgoingRows.CHECKSUM);
            asked.add(count(when(isFor, 1)));
            // A sum of whole checksums would not fit; halves do, and their carry is dropped below.
            asked.add(sum(when(isFor, shiftright(checksum, HALF_BITS))));
            asked.add(sum(when(isFor, checksum.bitwiseAND(LOW_HALF))));
            asked.add(sum(when(isFor, length(col(OutgoingRows.VALUE)))));
        }
        Column first = asked.remove(0);
        Row found = rows.agg(first, asked.toArray(Column[]::new)).head();
        Map<Integer, Counted> counted = new HashMap<>();
        for (int i = 0; i < places.size(); i++) {
            int at = 4 * i;
            long checksum = (number(found, at + 1) << HALF_BITS) + number(found, at + 2);
            counted.put(
                    places.get(i),
                    new Counted(found.getLong(at), checksum, number(found, at + 3)));
        }
        return counted;
    }

    /** A sum of nothing is null. */
    private static long number(Row found, int at) {
        return found.isNullAt(at) ? 0 : found.getLong(at);
    }
}
