package io.headrace.windows;

import org.apache.spark.sql.catalyst.InternalRow;

/**
 * What the aggregates have gathered of the events so far. Only an {@link Evaluator} looks inside.
 *
 * <p>Most functions keep numbers and texts. Some keep an object of their own, and Spark promises
 * about those only what its own plans need: one that was made new takes events, and one that was
 * merged takes other objects. A buffer that was stored and is to take events again hence has two
 * objects for each such function.
 */
public final class Buffer {
    /** All values; for a function with an object of its own, the one that takes events. */
    final InternalRow taking;

    /** Holds the objects that others were merged into; null as long as there were none. */
    InternalRow merged;

    /** Whether {@link #taking} has objects. */
    boolean open;

    Buffer(InternalRow taking) {
        this.taking = taking;
    }

    /** Where the objects are, once those that take events are empty. */
    InternalRow objects() {
        return merged == null ? taking : merged;
    }
}
