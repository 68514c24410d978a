package io.headrace.windows;

import io.headrace.batches.RunningBatch;
import io.headrace.batches.Tallies;
import io.headrace.batches.Tallies.Tally;
import java.io.Serializable;

/**
 * Lets the events pass that belong to a window which is still open, and counts them all.
 *
 * <p>It is a condition, and not a deterministic one, so Spark's optimizer neither copies it nor moves
 * it to where rows are not read yet. Public, as the code that Spark generates calls it.
 */
public final class Admission implements Serializable {
    static final long NO_TIME = Long.MIN_VALUE;
    private static final long serialVersionUID = 1L;
    private static final long MICROS = 1000;

    private final String name;
    private final long size;
    private final long every;
    private final long offset;
    private final RunningBatch batch;
    private final Tallies tallies;

    private transient Tally tally;
    private transient long watermark;

    Admission(WindowTerms terms, RunningBatch batch, Tallies tallies) {
        this.name = terms.name();
        this.size = terms.size();
        this.every = terms.every();
        this.offset = terms.offset();
        this.batch = batch;
        this.tallies = tallies;
        batch.isOf(this);
    }

    /**
     * Judges a row.
     *
     * @param isDead whether it is a dead letter
     * @param time its event time in microseconds, or the least number for none
     * @param partition the partition that the task reads
     * @return whether it is an event of a window that is not over
     */
    public boolean admits(boolean isDead, long time, int partition) {
        if (tally == null) {
            watermark = batch.watermark() * MICROS;
            tally = tallies.begin(partition);
        }
        if (isDead) {
            tally.dead();
            return false;
        }
        if (time == NO_TIME || lastEnd(time) <= watermark) {
            tally.late();
            return false;
        }
        tally.onTime();
        return true;
    }

    /** Whether a window of the last event that was let in is not over; its end is in microseconds. */
    public boolean isOpen(long end) {
        return end > watermark;
    }

    /** The end of the last window that an event is in. */
    private long lastEnd(long time) {
        return time - Math.floorMod(time - offset, every) + size;
    }

    @Override
    public String toString() {
        return name;
    }
}
