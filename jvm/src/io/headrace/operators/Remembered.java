package io.headrace.operators;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;

/**
 * The times at which ids were let pass, each until the watermark has gone beyond it for long enough.
 *
 * <p>What is kept of a bucket of ids is divided by the watermark until which it is remembered, into
 * cells of {@code within}. A cell has one timer, after its end, when nothing in it is remembered any
 * more: to forget costs a step to the next id, and no search. The cells of all buckets end at once;
 * their timers do not, or one batch would forget for all. Of an id, up to three cells have to be
 * looked at. Times are in microseconds, watermarks in milliseconds, as Spark has them.
 */
final class Remembered {
    private static final long MICROS = 1_000;
    private static final int ENTRY = 8 + 8;

    private final StatefulProcessorHandle handle;
    private final MapState<byte[], byte[]> state;
    private final long within;
    private final long stretch;
    private final int buckets;

    private ManyEntries entries;
    private int bucket;
    private long watermark;
    private byte[] id;

    /** By time, the last watermark at which it is still remembered; of the id at hand. */
    private final TreeMap<Long, Long> untilByTime = new TreeMap<>();

    /** What was found in the cells of ids that are to come; null where nothing was. */
    private final Map<Entry, byte[]> expected = new HashMap<>();

    /** The cells of the id that were read, each with whether it has changed. */
    private final Map<Long, Boolean> cells = new HashMap<>();

    /** The cells of the bucket that have a timer by now. */
    private final Set<Long> timed = new HashSet<>();

    /**
     * Opens the state of a step.
     *
     * @param within how far apart two events of an id may be to be the same, in microseconds
     * @param buckets how many there are
     */
    Remembered(StatefulProcessorHandle handle, String variable, long within, int buckets) {
        this.handle = handle;
        this.state =
                handle.getMapState(
                        variable, Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
        this.within = within;
        this.stretch = Math.max(1, within / MICROS);
        this.buckets = buckets;
    }

    /** Where something of an id may be kept. */
    private record Entry(long cell, ByteBuffer id) {}

    /** Turns to a bucket, under the current watermark. */
    void open(int next, long now) {
        bucket = next;
        watermark = now;
        timed.clear();
        expected.clear();
        forgetId();
    }

    /** Notes that an event of an id and a time is to come, so that its cells are read with others. */
    void expect(byte[] coming, long time) {
        for (long cell = firstCell(time); cell <= lastCell(time); cell++) {
            expected.put(new Entry(cell, ByteBuffer.wrap(coming)), null);
        }
    }

    /** Reads what is kept of all ids that are to come. */
    void readExpected() {
        if (entries == null) {
            entries = new ManyEntries(state);
        }
        List<Entry> asked = List.copyOf(expected.keySet());
        asked.forEach(entry -> entries.ask(group(entry.cell), entry.id.array()));
        Iterator<byte[]> found = entries.read().iterator();
        asked.forEach(entry -> expected.put(entry, found.next()));
    }

    /** Turns to an id of the bucket; that of the one before was stored. */
    void turnTo(byte[] next) {
        forgetId();
        id = next;
    }

    /** Whether an event of this time repeats one that is remembered. */
    boolean hides(long time) {
        for (long cell = firstCell(time); cell <= lastCell(time); cell++) {
            if (cells.putIfAbsent(cell, false) == null) {
                read(cell);
            }
        }
        Long nearest = untilByTime.floorKey(plus(time, within));
        return nearest != null && nearest >= minus(time, within);
    }

    /**
     * Remembers an event until the watermark passes its time and {@code within}. That of a late one
     * is counted from the watermark at its arrival, or its repetitions would be forgotten at once.
     */
    void add(long time) {
        long until = until(Math.max(time, micros(watermark)));
        untilByTime.put(time, until);
        cells.put(cell(until), true);
    }

    /** Writes what has changed of the id. */
    void store() {
        cells.forEach(
                (cell, isChanged) -> {
                    if (isChanged) {
                        enter(cell);
                        state.updateValue(id, of(cell));
                        setTimer(cell);
                    }
                });
    }

    /** Forgets all ids of the cell whose timer fires. */
    void clear() {
        state.clear();
    }

    private void forgetId() {
        untilByTime.clear();
        cells.clear();
    }

    private void read(long cell) {
        byte[] stored = expected.get(new Entry(cell, ByteBuffer.wrap(id)));
        if (stored == null) {
            return;
        }
        ByteBuffer in = ByteBuffer.wrap(stored);
        while (in.hasRemaining()) {
            long time = in.getLong();
            long until = in.getLong();
            if (until >= watermark) {
                untilByTime.put(time, until);
            }
        }
    }

    private byte[] of(long cell) {
        ByteBuffer out = ByteBuffer.allocate(ENTRY * untilByTime.size());
        untilByTime.forEach(
                (time, until) -> {
                    if (cell(until) == cell) {
                        out.putLong(time).putLong(until);
                    }
                });
        byte[] stored = new byte[out.position()];
        out.flip().get(stored);
        return stored;
    }

    /** A cell at the end of time has none. */
    private void setTimer(long cell) {
        if (timed.add(cell) && cell < Long.MAX_VALUE / stretch - 1) {
            // One that is there is let be.
            handle.registerTimer((cell + 1) * stretch + turn());
        }
    }

    /** How long after its end a cell of the bucket is forgotten: each bucket has its turn. */
    private long turn() {
        return (long) ((double) bucket / buckets * stretch);
    }

    private long cell(long until) {
        return Math.floorDiv(until, stretch);
    }

    /** Where an event is kept which one of this time can repeat: in the first such cell. */
    private long firstCell(long time) {
        return cell(Math.max(watermark, until(minus(time, within))));
    }

    private long lastCell(long time) {
        return cell(until(Math.max(plus(time, within), micros(watermark))));
    }

    /**
     * Turns to a cell. Spark groups rows, and sends them to partitions, by the bucket alone; to the
     * state store a cell is a group of its own.
     */
    private void enter(long cell) {
        ImplicitGroupingKeyTracker.setImplicitKey(group(cell));
    }

    private Row group(long cell) {
        return RowFactory.create(bucket, cell);
    }

    /** The last watermark at which an event of a time is remembered, in milliseconds. */
    private long until(long time) {
        return -Math.floorDiv(-plus(time, within), MICROS);
    }

    private static long micros(long millis) {
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
