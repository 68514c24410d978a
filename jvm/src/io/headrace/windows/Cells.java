package io.headrace.windows;

import io.headrace.windows.Held.Bounds;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * What is kept of windows, in cells: the windows of a bucket of keys that end in the same stretch of
 * time.
 *
 * <p>The keys of a cell lie side by side in the state store, each with its windows of that stretch,
 * and a cell has one timer, for the first end among them. So what a window costs when it fires is
 * the step to the next key, and no search. A stretch is as long as sixteen windows are apart: a key
 * with many windows at a time has few entries, and a key whose windows end later is passed over
 * a few times at the most.
 */
final class Cells {
    private static final int WINDOWS_APART = 16;

    private static final Comparator<Bounds> ORDER =
            Comparator.comparingLong(Bounds::end).thenComparingLong(Bounds::start);

    private final StatefulProcessorHandle handle;
    private final MapState<byte[], byte[]> state;
    private final Evaluator evaluator;
    private final long stretch;

    private Integer bucket;
    private byte[] key;

    /** The windows of the key at hand, by stretch. */
    private final Map<Long, TreeMap<Bounds, Buffer>> found = new HashMap<>();

    /** For each stretch the first end of a window that was read; there is a timer for it. */
    private final Map<Long, Long> timed = new HashMap<>();

    /** For each stretch the first end of a window that was written. */
    private final Map<Long, Long> ends = new HashMap<>();

    Cells(StatefulProcessorHandle handle, WindowTerms terms, Evaluator evaluator) {
        this.handle = handle;
        this.state =
                handle.getMapState(
                        "windows-" + terms.name(),
                        Encoders.BINARY(),
                        Encoders.BINARY(),
                        TTLConfig.NONE());
        this.evaluator = evaluator;
        this.stretch = Math.multiplyExact(terms.every(), WINDOWS_APART);
    }

    /** Turns to a bucket. */
    void open(int next) {
        bucket = next;
        key = null;
        found.clear();
        timed.clear();
        ends.clear();
    }

    /** Turns to a key of the bucket, and writes what the one before has gathered. */
    void turnTo(byte[] next) {
        store();
        key = next;
        found.clear();
    }

    /** Gives what a window of the key has gathered; of one that is new, nothing. */
    Buffer find(Bounds window) {
        long number = Math.floorDiv(window.end(), stretch);
        TreeMap<Bounds, Buffer> windows = found.get(number);
        if (windows == null) {
            windows = new TreeMap<>(ORDER);
            enter(number);
            byte[] stored = state.getValue(key);
            if (stored != null) {
                new StoredWindows(stored).into(windows, evaluator);
                timed.merge(number, windows.firstKey().end(), Math::min);
            }
            found.put(number, windows);
        }
        return windows.computeIfAbsent(window, absent -> evaluator.fresh());
    }

    /**
     * Writes what the last key has gathered, and sets the timers of the cells.
     *
     * @param timer gives the time of the timer for a window's end
     */
    void close(LongUnaryOperator timer) {
        store();
        ends.forEach(
                (number, end) -> {
                    if (end < timed.getOrDefault(number, Long.MAX_VALUE)) {
                        enter(number);
                        set(timer.applyAsLong(end));
                    }
                });
    }

    /** Gives the entries of the cell whose timer fires, key by key, as they are asked for. */
    Iterator<Tuple2<byte[], byte[]>> entries() {
        return state.iterator();
    }

    /** Keeps of a key, in the cell whose timer fires, the windows that are left. */
    void keep(byte[] ofKey, StoredWindows left) {
        if (left.isEmpty()) {
            state.removeKey(ofKey);
        } else {
            state.updateValue(ofKey, left.rest());
        }
    }

    private void store() {
        found.forEach(
                (number, windows) -> {
                    enter(number);
                    state.updateValue(key, StoredWindows.of(windows, evaluator));
                    ends.merge(number, windows.firstKey().end(), Math::min);
                });
    }

    /** Sets the timer of the cell at hand, unless it has an earlier one. */
    private void set(long time) {
        Iterator<Object> timers = handle.listTimers();
        while (timers.hasNext()) {
            long other = (Long) timers.next();
            if (other <= time) {
                time = Long.MAX_VALUE;
            } else {
                handle.deleteTimer(other);
            }
        }
        if (time != Long.MAX_VALUE) {
            handle.registerTimer(time);
        }
    }

    /**
     * Turns to a cell. Spark groups rows, and sends them to partitions, by the bucket alone; to the
     * state store a cell is a group of its own.
     */
    private void enter(long number) {
        ImplicitGroupingKeyTracker.setImplicitKey(RowFactory.create(bucket, number));
    }
}
