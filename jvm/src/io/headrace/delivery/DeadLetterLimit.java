package io.headrace.delivery;

/** Refuses to go on when more inputs than expected cannot be read. */
final class DeadLetterLimit {
    /** Fewer rows are no share to judge by: one bad event in a batch of one would be all of it. */
    private static final long ENOUGH_ROWS = 100;

    private final DeliveryOptions options;
    private long dead;
    private long all;

    DeadLetterLimit(DeliveryOptions options) {
        this.options = options;
    }

    /**
     * Counts a batch that is in the output.
     *
     * @param rows how many rows each sink was given
     */
    void count(long[] rows) {
        int sink = options.deadLetterSink();
        if (sink < 0) {
            return;
        }
        dead += rows[sink];
        for (long count : rows) {
            all += count;
        }
        if (all < ENOUGH_ROWS) {
            return;
        }
        long judgedDead = dead;
        long judged = all;
        dead = 0;
        all = 0;
        if (judgedDead > options.deadLetterLimit() * judged) {
            throw Refusal.of(
                    "too-many-dead-letters",
                    judgedDead + " of " + judged + " rows are dead letters",
                    "the limit is " + options.deadLetterLimit() + "; the rows are written, the "
                            + "dead letters to topic \"" + options.sinks().get(sink).topic()
                            + "\".",
                    "look at the reasons there; if they are right, raise dead_letter_limit.");
        }
    }
}
