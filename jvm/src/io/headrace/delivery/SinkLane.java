package io.headrace.delivery;

import java.util.Optional;

/**
 * One lane of one sink, open in one task: it takes rows and, at their end, the batch's record.
 *
 * <p>The calls come in this order: {@code glance}, {@code claim}, then, if the record says that the
 * batch is to be written, {@code write} for each row and {@code commit} once; {@code close} in any
 * case, and at any point.
 *
 * <p>A lane reaches the failpoints {@code rows-flushed}, {@code record-sent} and {@code
 * commit-in-doubt} in its {@code commit}, each where the words are true of it.
 */
public interface SinkLane extends AutoCloseable {
    /**
     * Tells what the sink holds without disturbing anybody, where a claim would shut others out.
     *
     * <p>A driver that was left behind learns from it that others went on, and leaves the lane to
     * them.
     *
     * @return the last record; nothing if there is none, or if a claim shuts nobody out for good
     */
    default Optional<LedgerRecord> glance() {
        return Optional.empty();
    }

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

    /**
     * Lets a call that waits for the server fail, since the task is to end.
     *
     * <p>It comes from another thread, at any time. A socket does not hear of an interrupt.
     */
    default void interrupt() {}

    /** Gives up what was not committed. */
    @Override
    void close();
}
