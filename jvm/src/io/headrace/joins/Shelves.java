package io.headrace.joins;

import io.headrace.joins.Shelf.Waiting;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import scala.Tuple2;

/** The shelves of the key at hand; each is read once, and written if it has changed. */
final class Shelves {
    private final MapState<Long, byte[]> state;
    private final long width;
    private Map<Long, Shelf> found;

    Shelves(StatefulProcessorHandle handle, String name, long width) {
        this.state =
                handle.getMapState(
                        "waiting-" + name,
                        Encoders.LONG(),
                        Encoders.BINARY(),
                        TTLConfig.NONE());
        this.width = width;
    }

    /** Turns to another key. */
    void open() {
        found = new LinkedHashMap<>();
    }

    /** The number of the shelf that a time belongs to. */
    long number(long at) {
        return Math.floorDiv(at, width);
    }

    /** The last moment that belongs to a shelf. */
    long end(Shelf shelf) {
        return (shelf.number + 1) * width - 1;
    }

    /** Gives a shelf, an empty one if there is none. */
    Shelf find(boolean isLeft, long number) {
        return found.computeIfAbsent(
                Shelf.place(isLeft, number),
                place -> {
                    byte[] stored = state.getValue(place);
                    return stored == null ? new Shelf(isLeft, number) : Shelf.read(place, stored);
                });
    }

    /** Reads all that the key has. */
    Collection<Shelf> all() {
        scala.collection.Iterator<Tuple2<Long, byte[]>> stored = state.iterator();
        while (stored.hasNext()) {
            Tuple2<Long, byte[]> next = stored.next();
            found.computeIfAbsent(next._1(), place -> Shelf.read(place, next._2()));
        }
        return new ArrayList<>(found.values());
    }

    /** Takes rows away from all shelves, and gives them in the order of their times. */
    List<Waiting> taken(Predicate<Waiting> wanted) {
        List<Waiting> found = new ArrayList<>();
        for (Shelf shelf : all()) {
            Iterator<Waiting> rows = shelf.rows.iterator();
            while (rows.hasNext()) {
                Waiting row = rows.next();
                if (wanted.test(row)) {
                    rows.remove();
                    shelf.changed = true;
                    found.add(row);
                }
            }
        }
        found.sort(
                Comparator.comparingLong((Waiting row) -> row.at)
                        .thenComparing(row -> row.row, Arrays::compare));
        return found;
    }

    /**
     * Writes what has changed.
     *
     * @param needsTimer whether a shelf has no timer that is still to come
     * @param quietUntil the last moment of the watermark at which nothing is to be done about it
     * @param alarm sets a timer for the first watermark at or beyond a moment
     */
    void storeAll(
            Predicate<Shelf> needsTimer, ToLongFunction<Shelf> quietUntil, LongConsumer alarm) {
        for (Shelf shelf : found.values()) {
            boolean isTimeless = !shelf.rows.isEmpty() && needsTimer.test(shelf);
            if (!shelf.changed && !isTimeless) {
                continue;
            }
            long quiet = quietUntil.applyAsLong(shelf);
            // A timer that is due too early finds nothing to do, and sets the next.
            if (isTimeless || !shelf.rows.isEmpty() && quiet < shelf.quietUntil) {
                shelf.quietUntil = quiet;
                alarm.accept(quiet + 1);
            }
            store(shelf);
        }
    }

    private void store(Shelf shelf) {
        if (!shelf.rows.isEmpty()) {
            state.updateValue(shelf.place(), shelf.bytes());
        } else if (shelf.stored) {
            state.removeKey(shelf.place());
        }
        shelf.changed = false;
    }
}
