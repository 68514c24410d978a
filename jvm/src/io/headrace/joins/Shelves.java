package io.headrace.joins;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import scala.Tuple2;
import scala.collection.Iterator;

/** The shelves of the key at hand; each is read once, and written if it has changed. */
final class Shelves {
    private final MapState<Long, byte[]> state;
    private final long width;
    private Map<Long, Shelf> found;

    Shelves(StatefulProcessorHandle handle, JoinTerms terms) {
        this.state =
                handle.getMapState(
                        "waiting-" + terms.name(),
                        Encoders.LONG(),
                        Encoders.BINARY(),
                        TTLConfig.NONE());
        this.width = terms.width();
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
        Iterator<Tuple2<Long, byte[]>> stored = state.iterator();
        while (stored.hasNext()) {
            Tuple2<Long, byte[]> next = stored.next();
            found.computeIfAbsent(next._1(), place -> Shelf.read(place, next._2()));
        }
        return new ArrayList<>(found.values());
    }

    /** Those that have been looked at. */
    Collection<Shelf> looked() {
        return found.values();
    }

    void store(Shelf shelf) {
        if (!shelf.rows.isEmpty()) {
            state.updateValue(shelf.place(), shelf.bytes());
        } else if (shelf.stored) {
            state.removeKey(shelf.place());
        }
        shelf.changed = false;
    }
}
