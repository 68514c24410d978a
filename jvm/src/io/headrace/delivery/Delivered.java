package io.headrace.delivery;

import java.util.List;

/**
 * What a job has done with a batch.
 *
 * @param places of the job's sinks among all
 * @param receipts one of each task
 * @param at when it was done, in milliseconds since 1970
 */
record Delivered(List<Integer> places, List<Receipt> receipts, long at) {
    /** Notes that it was done just now. */
    static Delivered now(List<Integer> places, List<Receipt> receipts) {
        return new Delivered(places, receipts, System.currentTimeMillis());
    }

    /** Whether all of it was in the output already. */
    boolean isHeld() {
        return !receipts.isEmpty() && receipts.stream().allMatch(Receipt::held);
    }
}
