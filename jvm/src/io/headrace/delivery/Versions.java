package io.headrace.delivery;

/**
 * Numbers the rows of a lane's part of a batch, for sinks that compare versions.
 *
 * <p>A version grows from row to row of a key, over batches, restarts and checkpoints that are
 * adopted, and is the same when a batch is delivered again.
 */
final class Versions {
    static final int ROW_BITS = 24;
    static final int BATCH_BITS = 28;
    static final int GENERATION_BITS = 11;

    private final long first;
    private final boolean isCompared;
    private long rows;

    /**
     * Begins with the first row of a lane's part.
     *
     * @param isCompared whether the sink looks at versions at all
     */
    Versions(BatchTerms terms, boolean isCompared) {
        this.isCompared = isCompared;
        if (isCompared
                && (terms.batch() >> BATCH_BITS > 0
                        || terms.generation() >> GENERATION_BITS > 0)) {
            throw Refusal.of(
                    "versions-exhausted",
                    "the sink's versions have come to their end",
                    "batch " + terms.batch() + " of generation " + terms.generation()
                            + " does not fit into " + BATCH_BITS + " and " + GENERATION_BITS
                            + " bits.",
                    "empty the sink, and begin anew under another output's name.");
        }
        first = ((long) terms.generation() << BATCH_BITS | terms.batch()) << ROW_BITS;
    }

    /** Gives the next row's version. */
    long next() {
        if (isCompared && rows >> ROW_BITS > 0) {
            throw Refusal.of(
                    "batch-too-large",
                    "a lane has more rows in one batch than versions have room for",
                    "versions count to " + (1 << ROW_BITS) + " in each lane and batch.",
                    "read less in a batch with most_per_batch, or use more lanes.");
        }
        return first + rows++;
    }
}
