package io.headrace.clock;

import java.util.Arrays;
import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * A watermark, and what its strategy has to know to go on: the content of an offset.
 *
 * @param watermark in milliseconds; 0 for none
 * @param delay how far it is held behind the events, in milliseconds
 * @param run how often the clock has told its watermark anew after a start
 * @param partitions what is known of each partition
 * @param lateness how late the recent events came, by bucket; empty if that is not counted
 */
record ClockState(
        long watermark,
        long delay,
        long run,
        SortedMap<Integer, Partition> partitions,
        long[] lateness) {

    static final ClockState NONE = new ClockState(0, 0, 0, Collections.emptySortedMap(), new long[0]);

    /**
     * What is known of a partition.
     *
     * @param largest the largest event time in microseconds, or {@link Sightings#NEVER}
     * @param busyAt when it last had events or a backlog, in milliseconds of the wall clock
     */
    record Partition(long largest, long busyAt) {
        Partition with(Partition other) {
            return new Partition(
                    Math.max(largest, other.largest), Math.max(busyAt, other.busyAt));
        }
    }

    /** The same with another watermark. */
    ClockState at(long other, long itsDelay) {
        return new ClockState(other, itsDelay, run, partitions, lateness);
    }

    /** The same, told once more. */
    ClockState again() {
        return new ClockState(watermark, delay, run + 1, partitions, lateness);
    }

    /** The same, knowing more of the partitions; {@code counted} replaces the lateness. */
    ClockState knowing(Map<Integer, Partition> more, long[] counted) {
        SortedMap<Integer, Partition> together = new TreeMap<>(partitions);
        more.forEach((number, partition) -> together.merge(number, partition, Partition::with));
        return new ClockState(watermark, delay, run, together, counted);
    }

    /** Whether another has seen the same. */
    boolean hasSeenAs(ClockState other) {
        return partitions.equals(other.partitions) && Arrays.equals(lateness, other.lateness);
    }
}
