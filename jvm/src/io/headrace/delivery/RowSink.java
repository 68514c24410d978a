package io.headrace.delivery;

import java.io.Serializable;
import java.util.Map;

/**
 * A sink that takes rows, lane by lane.
 *
 * <p>It is made on the driver and sent to the executors, so it holds settings and no connections.
 * Failures are {@link Refusal}s: {@code sink-unreachable} and {@code commit-unknown} are passing,
 * and have the driver run the lanes again; all others end the query.
 */
public interface RowSink extends Serializable {
    /**
     * Makes what the sink needs and checks that it fits, on the driver, before the query starts.
     *
     * @throws Refusal if it does not fit, before any row was written
     */
    void prepare();

    /** What must not be exchanged for another of its name while rows are in it, each with an id. */
    Map<String, String> targets();

    /** The last records of the sink's own ledger by lane, of every lane that ever was. */
    Map<Integer, LedgerRecord> ledgers();

    /**
     * Puts other records in the place of all, at once, since the number of lanes was changed.
     *
     * @param seen what {@link #ledgers} gave
     * @param next what is to be there instead; a lane that is not named has no record any more
     * @throws Refusal {@code writer-fenced} if the ledger is not any more what was seen
     */
    void exchange(Map<Integer, LedgerRecord> seen, Map<Integer, LedgerRecord> next);

    /** Opens a lane, in a task. */
    SinkLane lane(int number);

    /** Whether it compares the versions of rows, which have 24 bits for the rows of a batch. */
    default boolean isVersioned() {
        return true;
    }
}
