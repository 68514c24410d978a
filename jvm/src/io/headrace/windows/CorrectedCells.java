package io.headrace.windows;

import io.headrace.operators.ManyEntries;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import scala.Tuple2;

/**
 * What is kept of windows that are corrected, in cells: one window of a bucket of keys, each of
 * which has an entry.
 *
 * <p>A cell has one timer, for its end, and behind that one for when it is forgotten. The entries of
 * a batch's events are read in one call, and those of a cell lie side by side.
 */
final class CorrectedCells {
    private static final int HEADER = 1 + Integer.BYTES;

    private final MapState<byte[], byte[]> state;
    private final Evaluator evaluator;
    private ManyEntries many;
    private int bucket;
    private byte[] key;

    /** What was found of events that are to come; null where there was nothing. */
    private final Map<Entry, byte[]> expected = new HashMap<>();

    /** The windows of the key at hand, by their ends. */
    private final TreeMap<Long, Kept> found = new TreeMap<>();

    /** The cells of the bucket that had entries, and so have a timer. */
    private final Set<Long> timed = new HashSet<>();

    /** The cells that have entries now. */
    private final Set<Long> written = new HashSet<>();

    private record Entry(long end, ByteBuffer key) {}

    /** One window of a key. */
    static final class Kept {
        final long end;
        final Buffer buffer;
        private final boolean isNew;

        /** How many panes it has given, as far as was written. */
        int number;

        /** Whether its entry says that it has fired. */
        boolean hasFired;

        /** Whether it is to fire a correction. */
        boolean isMarked;

        private Kept(long end, Buffer buffer, boolean isNew) {
            this.end = end;
            this.buffer = buffer;
            this.isNew = isNew;
        }

        /** Whether no batch before has put an event into it, nor has an earlier event of this. */
        boolean isNew() {
            return isNew;
        }
    }

    CorrectedCells(StatefulProcessorHandle handle, String name, Evaluator evaluator) {
        this.state =
                handle.getMapState(
                        "windows-" + name, Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
        this.evaluator = evaluator;
    }

    /** Turns to a bucket. */
    void open(int next) {
        bucket = next;
        key = null;
        found.clear();
        expected.clear();
        timed.clear();
        written.clear();
    }

    /** Notes that an event of a window and a key is to come. */
    void expect(long end, byte[] coming) {
        expected.put(new Entry(end, ByteBuffer.wrap(coming)), null);
    }

    /** Reads the entries of all events that are to come. */
    void readExpected() {
        if (many == null) {
            many = new ManyEntries(state);
        }
        List<Entry> asked = List.copyOf(expected.keySet());
        asked.forEach(entry -> many.ask(cell(entry.end), entry.key.array()));
        Iterator<byte[]> read = many.read().iterator();
        for (Entry entry : asked) {
            byte[] stored = read.next();
            if (stored != null) {
                expected.put(entry, stored);
                timed.add(entry.end);
            }
        }
    }

    /** Turns to a key of the bucket; that of the one before was stored. */
    void turnTo(byte[] next) {
        key = next;
        found.clear();
    }

    /** Gives a window of the key. */
    Kept find(long end) {
        return found.computeIfAbsent(
                end,
                absent -> {
                    byte[] stored = expected.get(new Entry(end, ByteBuffer.wrap(key)));
                    return stored == null
                            ? new Kept(end, evaluator.fresh(), true)
                            : read(end, stored);
                });
    }

    /** Gives the windows of the key that its events are in. */
    Collection<Kept> ofKey() {
        return found.values();
    }

    /** Writes the windows of the key. */
    void store() {
        for (Kept kept : found.values()) {
            ImplicitGroupingKeyTracker.setImplicitKey(cell(kept.end));
            byte[] gathered = evaluator.store(kept.buffer);
            ByteBuffer out = ByteBuffer.allocate(HEADER + gathered.length);
            out.put((byte) (kept.hasFired ? 1 : 0)).putInt(kept.number).put(gathered);
            state.updateValue(key, out.array());
            written.add(kept.end);
        }
    }

    /** Lets a timer be set for each cell that may have none. */
    void close(BiConsumer<Long, Row> setTimer) {
        for (long end : written) {
            if (!timed.contains(end)) {
                setTimer.accept(end, cell(end));
            }
        }
    }

    /** Reads an entry. */
    Kept read(long end, byte[] stored) {
        ByteBuffer in = ByteBuffer.wrap(stored);
        boolean hasFired = in.get() != 0;
        int number = in.getInt();
        byte[] gathered = new byte[in.remaining()];
        in.get(gathered);
        Kept kept = new Kept(end, evaluator.load(gathered), false);
        kept.hasFired = hasFired;
        kept.number = number;
        return kept;
    }

    /** Gives the entries of the cell whose timer fires, as they are asked for. */
    scala.collection.Iterator<Tuple2<byte[], byte[]>> entries() {
        return state.iterator();
    }

    /** Forgets the cell whose timer fires. */
    void clear() {
        state.clear();
    }

    /** Forgets a cell, and leaves it noted. */
    void clear(Row cell) {
        ImplicitGroupingKeyTracker.setImplicitKey(cell);
        clear();
    }

    /** The key of a cell. */
    static Row cell(long end, int bucket) {
        return RowFactory.create(end, bucket);
    }

    private Row cell(long end) {
        return cell(end, bucket);
    }
}
