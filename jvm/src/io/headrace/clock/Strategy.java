package io.headrace.clock;

import io.headrace.clock.ClockState.Partition;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.LongStream;

/** Decides a watermark from what is known. */
final class Strategy {
    private static final long MICROS = 1000;

    private final ClockSettings settings;

    Strategy(ClockSettings settings) {
        this.settings = settings;
    }

    /**
     * Takes in what a batch has shown.
     *
     * @param state what was known before
     * @param seen the largest times of the partitions that had events, in microseconds
     * @param lateness how many came how late since
     * @param outlook what the query's progress says
     * @param now the wall clock
     */
    ClockState learn(
            ClockState state,
            Map<Integer, Long> seen,
            long[] lateness,
            Outlook outlook,
            long now) {
        Map<Integer, Partition> more = new HashMap<>();
        for (int partition : outlook.partitions()) {
            if (!state.partitions().containsKey(partition)) {
                more.put(partition, new Partition(Sightings.NEVER, now));
            }
        }
        for (int partition : outlook.behind()) {
            more.put(partition, new Partition(Sightings.NEVER, now));
        }
        seen.forEach((partition, largest) -> more.put(partition, new Partition(largest, now)));
        long[] before = state.lateness().length == 0 ? new long[Lateness.BUCKETS] : state.lateness();
        long[] counted = lateness.length == 0 ? state.lateness() : Lateness.later(before, lateness);
        return state.knowing(more, counted);
    }

    /** Decides; the watermark never goes back. */
    ClockState decide(ClockState state, Outlook outlook, long now) {
        long delay = delay(state);
        long wanted =
                settings.isArrival()
                        ? now - Math.floorMod(now, settings.everyMs())
                        : byPartition(state, outlook, now, delay);
        long highest = Math.max(wanted, settings.floorMs());
        return state.at(Math.max(state.watermark(), highest), delay);
    }

    /** Whether all partitions are silent and caught up: nothing here holds the watermark. */
    boolean isAsleep(ClockState state, Outlook outlook, long now) {
        return !settings.isArrival()
                && !state.partitions().isEmpty()
                && state.partitions().entrySet().stream()
                        .allMatch(entry -> isIdle(entry, outlook, now));
    }

    private long delay(ClockState state) {
        if (settings.isObserved()) {
            long observed =
                    state.lateness().length == 0
                            ? 0
                            : Lateness.within(settings.percentile(), state.lateness());
            return Math.max(settings.atLeastMs(), Math.min(observed, settings.atMostMs()));
        }
        return settings.lagMicros() / MICROS;
    }

    /** The least of the partitions that are awake; the greatest if none is, or none counts. */
    private long byPartition(ClockState state, Outlook outlook, long now, long delay) {
        OptionalLong least =
                state.partitions().entrySet().stream()
                        .filter(entry -> !settings.isLagging() && !isIdle(entry, outlook, now))
                        .mapToLong(entry -> entry.getValue().largest())
                        .min();
        LongStream all = state.partitions().values().stream().mapToLong(Partition::largest);
        long largest = least.orElseGet(() -> all.max().orElse(Sightings.NEVER));
        if (largest == Sightings.NEVER) {
            return 0;
        }
        long behind = settings.isObserved() ? delay * MICROS : settings.lagMicros();
        return Math.floorDiv(largest - behind, MICROS);
    }

    private boolean isIdle(Map.Entry<Integer, Partition> entry, Outlook outlook, long now) {
        return settings.idleMs() != null
                && outlook.isKnown()
                && !outlook.behind().contains(entry.getKey())
                && now - entry.getValue().busyAt() >= settings.idleMs();
    }
}
