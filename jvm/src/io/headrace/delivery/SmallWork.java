package io.headrace.delivery;

/**
 * Whether a batch is so small that one task has computed it before several would have begun.
 *
 * <p>A row may take long, as a look into a database does, and several tasks would wait for it side
 * by side. So where one task took long, the next batches are shared, for as long as that is quicker:
 * on a machine that is busy everything takes long, and several tasks longest of all.
 */
final class SmallWork {
    private static final long MOST_RECORDS = 500;
    private static final double LONG_MS = 250;
    private static final int SHARED_BATCHES = 16;

    /** So that what several tasks took is found out again, some thirty batches later. */
    private static final double FORGETTING = 0.98;

    private SourceOffsets last;
    private long begunAt;
    private boolean isFew;
    private boolean isSmall;
    private int shared;
    private double oneTaskMs;
    private double severalTasksMs;

    /** Takes a batch that is about to be written; of the first one, its begin is not known. */
    void begin(SourceOffsets offsets) {
        isFew = last != null && offsets.since(last) <= MOST_RECORDS;
        isSmall = isFew && shared == 0;
        last = offsets;
        shared = Math.max(0, shared - 1);
        begunAt = System.nanoTime();
    }

    /** Whether one task is to compute and write the batch. */
    boolean isSmall() {
        return isSmall;
    }

    /** Notes how long the batch took, which is written now. */
    void end() {
        double tookMs = (System.nanoTime() - begunAt) / 1e6;
        if (isSmall) {
            oneTaskMs = tookMs;
            shared = tookMs > LONG_MS && tookMs > severalTasksMs ? SHARED_BATCHES : 0;
            severalTasksMs *= FORGETTING;
        } else if (isFew) {
            severalTasksMs = tookMs;
            shared = tookMs > oneTaskMs ? 0 : shared;
        }
    }
}
