package io.headrace.operators;

import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * The times at which an id was let pass, each until the watermark has gone beyond it for long
 * enough.
 *
 * <p>Times are in microseconds, watermarks in milliseconds, as Spark has them.
 */
final class Remembered {
    private static final long MICROS = 1_000;

    private final long within;
    private final long watermark;

    /** By time, the last watermark at which it is still remembered. */
    private final TreeMap<Long, Long> untilByTime = new TreeMap<>();

    /**
     * Takes up what is still to be remembered.
     *
     * @param stored what {@link #stored()} gave before, or null
     * @param within how far apart two events of an id may be to be the same, in microseconds
     * @param watermark the current watermark
     */
    Remembered(long[] stored, long within, long watermark) {
        this.within = within;
        this.watermark = watermark;
        for (int i = 0; stored != null && i < stored.length; i += 2) {
            if (stored[i + 1] >= watermark) {
                untilByTime.put(stored[i], stored[i + 1]);
            }
        }
    }

    /** Whether an event of this time repeats one that is remembered. */
    boolean hides(long time) {
        Long nearest = untilByTime.floorKey(plus(time, within));
        return nearest != null && nearest >= minus(time, within);
    }

    /**
     * Remembers an event until the watermark passes its time and {@code within}. That of a late one
     * is counted from the watermark at its arrival, or its repetitions would be forgotten at once.
     *
     * @return the watermark at which it is forgotten, unless another event already is then
     */
    OptionalLong add(long time) {
        long from = Math.max(time, times(watermark));
        long until = -Math.floorDiv(-plus(from, within), MICROS);
        boolean alone = !untilByTime.containsValue(until);
        untilByTime.put(time, until);
        return alone ? OptionalLong.of(until + 1) : OptionalLong.empty();
    }

    boolean isEmpty() {
        return untilByTime.isEmpty();
    }

    /** Gives what the state store is to keep. */
    long[] stored() {
        long[] stored = new long[2 * untilByTime.size()];
        int next = 0;
        for (Map.Entry<Long, Long> entry : untilByTime.entrySet()) {
            stored[next++] = entry.getKey();
            stored[next++] = entry.getValue();
        }
        return stored;
    }

    private static long times(long millis) {
        return millis > Long.MAX_VALUE / MICROS ? Long.MAX_VALUE : millis * MICROS;
    }

    /** Adds; what would be too large for a number of time is the end of time. */
    private static long plus(long time, long duration) {
        return time > Long.MAX_VALUE - duration ? Long.MAX_VALUE : time + duration;
    }

    private static long minus(long time, long duration) {
        return time < Long.MIN_VALUE + duration ? Long.MIN_VALUE : time - duration;
    }
}
