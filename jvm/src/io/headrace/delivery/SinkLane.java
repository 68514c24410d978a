package io.headrace.delivery;

/**
 * One lane of one sink, open in one task: it takes rows and, at their end, the batch's record.
 *
 * <p>The calls come in this order: {@code claim}, then, if the record says that the batch is to be
 * written, {@code write} for each row and {@code commit} once; {@code close} in any case.
 */
public interface SinkLane extends AutoCloseable {
    /**
     * Shuts out every earlier holder of the lane, and tells what the sink holds.
     *
     * @return the last record of the sink's own ledger for this lane, or null
     */
    LedgerRecord claim();

    /** Takes a row, in the order of its key; it may be sent at once or in bulk. */
    void write(OutgoingRow row);

    /**
     * Makes the rows and the record last, the record not before the rows.
     *
     * @throws Refusal if it is certain that they do not, or in doubt
     */
    void commit(LedgerRecord record);

    /** Gives up what was not committed. */
    @Override
    void close();
}
