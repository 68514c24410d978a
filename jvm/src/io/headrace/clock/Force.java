package io.headrace.clock;

import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.execution.streaming.runtime.WatermarkTracker;
import org.apache.spark.sql.streaming.StreamingQuery;

/**
 * Puts a watermark in force for the very batch that it was decided before.
 *
 * <p>Spark takes a watermark from the rows of one batch and runs the next one under it: what was
 * decided would wait for a batch that does nothing else. Spark asks for all offsets first and for
 * its watermark then, and writes both to its log at once; told in between, a batch that is repeated
 * has the same one. The clocks' rows say it too, so where this does nothing, it only comes later.
 */
final class Force {
    private Force() {}

    /**
     * Moves a query's watermark on, if nothing but clocks has a say in it.
     *
     * @param query the one that is about to plan a batch; null if it is not known
     * @param clocks how many have decided
     * @param watermark where they have come to, in milliseconds
     */
    static void put(StreamingQuery query, int clocks, long watermark) {
        if (query instanceof StreamingQueryWrapper wrapper) {
            StreamExecution running = wrapper.streamingQuery();
            WatermarkTracker tracker =
                    running instanceof MicroBatchExecution batches ? batches.watermarkTracker() : null;
            if (tracker != null
                    && tracker.watermarkMap().size() == clocks
                    && tracker.currentWatermark() < watermark) {
                tracker.setWatermark(watermark);
                forgetGuesses(running.lastExecution());
            }
        }
    }

    /**
     * Has Spark forget which watermarks its operators would have had.
     *
     * <p>Each time it looks for something to do and finds nothing, it has asked itself what the next
     * batch would be under the watermark as it was, and it fails where that batch then has another.
     * What it needs of the batch before it computes anew.
     */
    private static void forgetGuesses(IncrementalExecution last) {
        if (last != null) {
            last.watermarkPropagator().purge(Long.MAX_VALUE);
        }
    }
}
