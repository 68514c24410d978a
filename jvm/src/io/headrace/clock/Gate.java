package io.headrace.clock;

import java.io.Serializable;

/**
 * Lets the data pass behind the watermark, looks at it, and keeps the clock's own rows back.
 *
 * <p>It is a condition, and not a deterministic one, so Spark's optimizer neither drops nor copies
 * it, and moves no condition of the user below it, where that would take the clock's rows away.
 * Public, as the code that Spark generates calls it.
 */
public final class Gate implements Serializable {
    static final int NO_PARTITION = -1;
    private static final long serialVersionUID = 1L;

    private final Sightings sightings;
    // The clock lives as long as a plan that its data runs through.
    private final transient Clock clock;

    Gate(Sightings sightings, Clock clock) {
        this.sightings = sightings;
        this.clock = clock;
    }

    /**
     * Sees a row.
     *
     * @param partition the partition it came from; below zero for the clock's own
     * @param time its event time in microseconds, or the least number for none
     * @return whether it is data
     */
    public boolean pass(int partition, long time) {
        if (partition == NO_PARTITION) {
            return false;
        }
        if (time != Sightings.NEVER) {
            sightings.see(partition, time);
        }
        return true;
    }

    @Override
    public String toString() {
        return clock == null ? "clock" : clock.toString();
    }
}
