package io.headrace.windows;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;
import java.util.function.LongConsumer;
import java.util.function.ToLongFunction;

/**
 * The windows of the key at hand: read from the state store when they are asked for, and written
 * back once, by {@link #store}.
 */
abstract class HeldWindows {
    /** Those that were read or made, as they are now. */
    protected final TreeMap<Place, Held> found = new TreeMap<>(Place.ORDER);

    /** Where a window lies; they fire in the order of their ends, then of their beginnings. */
    protected record Place(long start, long end) {
        static final Comparator<Place> ORDER =
                Comparator.comparingLong(Place::end).thenComparingLong(Place::start);

        static Place of(Held held) {
            return new Place(held.start, held.end);
        }
    }

    /** Turns to another key. */
    void open() {
        found.clear();
    }

    /** Gives a window, or null. */
    Held find(long start, long end) {
        return found.get(new Place(start, end));
    }

    /** Gives all windows in their order; others may be added and removed meanwhile. */
    Collection<Held> all() {
        return new ArrayList<>(found.values());
    }

    void add(Held held) {
        found.put(Place.of(held), held);
    }

    void remove(Held held) {
        found.remove(Place.of(held));
    }

    /** Gives the windows that are to be corrected, in their order. */
    List<Held> marked() {
        return found.values().stream().filter(held -> held.marked).toList();
    }

    /**
     * Writes what has changed, and sets timers.
     *
     * @param nextMoment when the watermark changes something about a window next
     * @param setTimer takes a moment
     */
    abstract void store(ToLongFunction<Held> nextMoment, LongConsumer setTimer);
}
