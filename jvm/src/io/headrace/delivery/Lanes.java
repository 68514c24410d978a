package io.headrace.delivery;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The lanes that rest in this JVM between two batches, fenced and known to be up to date.
 *
 * <p>A lane that is in use is not here, so two attempts of one task never share a producer.
 */
final class Lanes {
    private static final Map<String, Lane> RESTING = new ConcurrentHashMap<>();

    static {
        Sweeping.start(Lanes::sweep);
    }

    private Lanes() {}

    /**
     * Takes the lane that has written the batch before this one; null if none has, here.
     *
     * <p>A lane that rests after any other batch is of no use: on a cluster the lane was written
     * elsewhere since, and its holder here is fenced. Nor is one of an earlier run, which the
     * driver may have fenced before it adopted anything.
     */
    static Lane take(DeliveryOptions options, int number, BatchTerms next) {
        Lane lane = RESTING.remove(name(options, number));
        if (lane == null) {
            return null;
        }
        BatchTerms last = lane.last().terms();
        if (!lane.hasRestedLong()
                && lane.run().equals(options.run())
                && last.lineage().equals(next.lineage())
                && last.batch() == next.batch() - 1
                && last.lanes() == next.lanes()) {
            return lane;
        }
        lane.drop();
        return null;
    }

    /**
     * Lets a lane rest whose last record is certain.
     *
     * <p>A task that Spark gave up may come after the attempt that replaced it. Of the two, the
     * one that was fenced must not be the one that stays.
     */
    static void rest(DeliveryOptions options, Lane lane) {
        lane.beginRest();
        RESTING.merge(
                name(options, lane.number()),
                lane,
                (there, coming) -> {
                    Lane fenced = coming.fencedAfter(there) ? there : coming;
                    fenced.drop();
                    return fenced == there ? coming : there;
                });
    }

    /**
     * Closes what has rested here for long.
     *
     * <p>Nobody tells an executor that a query has ended, or that a lane has moved on for good.
     */
    private static void sweep() {
        RESTING.forEach(
                (name, lane) -> {
                    if (lane.hasRestedLong() && RESTING.remove(name, lane)) {
                        lane.close();
                    }
                });
    }

    /** Closes what rests in this JVM of a query that has ended. */
    static void close(DeliveryOptions options) {
        for (int number = 0; number < options.lanes(); number++) {
            Lane lane = RESTING.remove(name(options, number));
            if (lane != null) {
                lane.close();
            }
        }
    }

    /** Leaves all that rest here as they are, as the end of a process does. */
    static void forget() {
        RESTING.clear();
    }

    private static String name(DeliveryOptions options, int number) {
        return options.bootstrap()
                + " " + options.progressTopic()
                + " " + options.transactionalId(number);
    }
}
