package io.headrace.windows;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.function.LongConsumer;
import java.util.function.ToLongFunction;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import scala.Tuple2;
import scala.collection.Iterator;

/** Windows that are kept one by one, for keys that have many at a time and touch few of them. */
final class ScatteredWindows extends HeldWindows {
    private final MapState<byte[], byte[]> state;
    private final Evaluator evaluator;
    private boolean isComplete;

    ScatteredWindows(StatefulProcessorHandle handle, String name, Evaluator evaluator) {
        this.state =
                handle.getMapState(
                        "windows-" + name,
                        Encoders.BINARY(),
                        Encoders.BINARY(),
                        TTLConfig.NONE());
        this.evaluator = evaluator;
    }

    @Override
    void open() {
        super.open();
        isComplete = false;
    }

    @Override
    Held find(long start, long end) {
        Held held = super.find(start, end);
        if (held == null && !isComplete) {
            byte[] stored = state.getValue(key(new Place(start, end)));
            if (stored != null) {
                held = Held.read(ByteBuffer.wrap(stored), evaluator);
                add(held);
            }
        }
        return held;
    }

    @Override
    Collection<Held> all() {
        if (!isComplete) {
            Iterator<Tuple2<byte[], byte[]>> stored = state.iterator();
            while (stored.hasNext()) {
                Held held = Held.read(ByteBuffer.wrap(stored.next()._2()), evaluator);
                // What was found before may have been changed since.
                found.putIfAbsent(Place.of(held), held);
            }
            isComplete = true;
        }
        return super.all();
    }

    @Override
    void remove(Held held) {
        super.remove(held);
        state.removeKey(key(Place.of(held)));
    }

    @Override
    void store(ToLongFunction<Held> nextMoment, LongConsumer setTimer) {
        for (Held held : found.values()) {
            if (!held.changed) {
                continue;
            }
            long moment = nextMoment.applyAsLong(held);
            if (moment != held.alarm) {
                held.alarm = moment;
                setTimer.accept(moment);
            }
            state.updateValue(key(Place.of(held)), held.stored(evaluator));
            held.changed = false;
        }
    }

    private static byte[] key(Place place) {
        return ByteBuffer.allocate(16).putLong(place.start()).putLong(place.end()).array();
    }
}
