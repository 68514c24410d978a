package io.headrace.delivery;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * A sink that takes the rows of a batch as a frame, and writes it with Spark's own means.
 *
 * <p>It lives on the driver. Failures are {@link Refusal}s, as those of a {@link RowSink} are.
 */
public interface FrameSink {
    /**
     * Makes what the sink needs and checks that it fits, before the query starts.
     *
     * @throws Refusal if it does not fit, before any row was written
     */
    void prepare();

    /**
     * What the sink always takes over as it is, though nobody said so.
     *
     * <p>For one that holds nothing longer than its process, a missing ledger is no loss to warn of.
     */
    default Set<String> adopts() {
        return Set.of();
    }

    /** What must not be exchanged for another of its name while rows are in it, each with an id. */
    Map<String, String> targets();

    /** The last record of the sink's own ledger, or null. */
    LedgerRecord last();

    /**
     * Writes a batch that the ledger does not hold.
     *
     * @param rows the sink's rows, cached, with the columns {@code key} and {@code value}, both
     *     binary, and {@code place}, a number that grows in the order of the rows of a key
     * @param bytes of all values
     * @param record is to last with the rows, and not before them
     */
    void write(Dataset<Row> rows, long bytes, LedgerRecord record);
}
