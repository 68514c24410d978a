package io.headrace.delivery;

import java.util.List;

/** What one system does with each batch of a query: the driver's part, with a ledger of its own. */
interface SinkJob extends AutoCloseable {
    /** The places of its sinks among all. */
    List<Integer> places();

    /** Makes and checks what is needed, before the query starts. */
    void prepare();

    /**
     * Writes its rows of a batch, unless it holds them.
     *
     * @param batch the outgoing rows of all jobs
     * @param terms the batch, without what the job adds to it
     */
    List<Receipt> write(OutgoingBatch batch, BatchTerms terms);

    /** Closes what this JVM keeps open, once what was sent has been answered. */
    @Override
    default void close() {}
}
