package io.headrace.delivery;

import java.util.List;

/**
 * What a job has done with a batch.
 *
 * @param places of the job's sinks among all
 * @param receipts one of each task
 */
record Delivered(List<Integer> places, List<Receipt> receipts) {
    /** Whether all of it was in the output already. */
    boolean isHeld() {
        return !receipts.isEmpty() && receipts.stream().allMatch(Receipt::held);
    }
}
