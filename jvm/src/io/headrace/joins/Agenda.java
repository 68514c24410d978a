package io.headrace.joins;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;

/**
 * What is to be done about the keys of a bucket once the watermark has come to certain moments.
 *
 * <p>What a batch adds is a page, and a list has the first moment of each page: what is not due is
 * not read. Pages of events and pages of rows to forget are apart, as their moments are. There is
 * one timer, for the first moment of all. Times in microseconds.
 */
final class Agenda {
    private static final int PAGE = 8 + 8;
    private static final int ENTRY = 8 + 4 + 4;
    private static final int NONE = -1;

    private final StatefulProcessorHandle handle;
    private final LongUnaryOperator timer;
    private final ValueState<byte[]> firsts;
    private final MapState<Long, byte[]> pages;

    /** The first moment of each page, by its number. */
    private final TreeMap<Long, Long> listed = new TreeMap<>();

    private final List<Entry> events = new ArrayList<>();
    private final List<Entry> rows = new ArrayList<>();

    /** The moment of the timer that is set; the end of time if none is. */
    private long alarm;

    private boolean changed;

    /** What is to be done: an event to be answered, or if there is none, old rows to be forgotten. */
    record Entry(long moment, byte[] key, byte[] event) {
        boolean isEvent() {
            return event != null;
        }
    }

    /**
     * Opens the state of a step.
     *
     * @param timer gives the time of the timer for a moment
     */
    Agenda(StatefulProcessorHandle handle, String name, LongUnaryOperator timer) {
        this.handle = handle;
        this.timer = timer;
        this.firsts =
                handle.getValueState("agenda-" + name, Encoders.BINARY(), TTLConfig.NONE());
        this.pages =
                handle.getMapState(
                        "pages-" + name, Encoders.LONG(), Encoders.BINARY(), TTLConfig.NONE());
    }

    /** Turns to another bucket. */
    void open() {
        listed.clear();
        events.clear();
        rows.clear();
        alarm = Long.MAX_VALUE;
        changed = false;
        byte[] stored = firsts.get();
        if (stored != null) {
            ByteBuffer in = ByteBuffer.wrap(stored);
            alarm = in.getLong();
            while (in.hasRemaining()) {
                listed.put(in.getLong(), in.getLong());
            }
        }
    }

    void add(Entry entry) {
        (entry.isEvent() ? events : rows).add(entry);
    }

    /** Takes away all that is due; the timer that was set is gone. */
    List<Entry> takeDue(long watermark) {
        alarm = Long.MAX_VALUE;
        changed = true;
        List<Entry> due = new ArrayList<>();
        new TreeMap<>(listed)
                .forEach(
                        (number, first) -> {
                            if (first <= watermark) {
                                takeDue(number, watermark, due);
                            }
                        });
        return due;
    }

    private void takeDue(long number, long watermark, List<Entry> due) {
        List<Entry> left = new ArrayList<>();
        for (Entry entry : read(pages.getValue(number))) {
            (entry.moment <= watermark ? due : left).add(entry);
        }
        listed.remove(number);
        if (left.isEmpty()) {
            pages.removeKey(number);
        } else {
            write(number, left);
        }
    }

    /** Writes what was added, and sets the timer. */
    void close() {
        for (List<Entry> added : List.of(events, rows)) {
            if (!added.isEmpty()) {
                write(listed.isEmpty() ? 0 : listed.lastKey() + 1, added);
            }
        }
        if (!changed) {
            return;
        }
        if (listed.isEmpty()) {
            firsts.clear();
            return;
        }
        setAlarm(Collections.min(listed.values()));
        ByteBuffer out = ByteBuffer.allocate(8 + PAGE * listed.size()).putLong(alarm);
        listed.forEach((number, first) -> out.putLong(number).putLong(first));
        firsts.update(out.array());
    }

    private void setAlarm(long next) {
        if (next >= alarm) {
            return;
        }
        long time = timer.applyAsLong(next);
        if (alarm != Long.MAX_VALUE) {
            long later = timer.applyAsLong(alarm);
            if (later == time) {
                return;
            }
            handle.deleteTimer(later);
        }
        alarm = next;
        handle.registerTimer(time);
    }

    private void write(long number, List<Entry> entries) {
        int length = 0;
        long first = Long.MAX_VALUE;
        for (Entry entry : entries) {
            length += ENTRY + entry.key.length + (entry.isEvent() ? entry.event.length : 0);
            first = Math.min(first, entry.moment);
        }
        ByteBuffer out = ByteBuffer.allocate(length);
        for (Entry entry : entries) {
            out.putLong(entry.moment).putInt(entry.key.length).put(entry.key);
            out.putInt(entry.isEvent() ? entry.event.length : NONE);
            if (entry.isEvent()) {
                out.put(entry.event);
            }
        }
        pages.updateValue(number, out.array());
        listed.put(number, first);
        changed = true;
    }

    private static List<Entry> read(byte[] page) {
        List<Entry> entries = new ArrayList<>();
        ByteBuffer in = ByteBuffer.wrap(page);
        while (in.hasRemaining()) {
            long moment = in.getLong();
            byte[] key = bytes(in, in.getInt());
            int length = in.getInt();
            entries.add(new Entry(moment, key, length == NONE ? null : bytes(in, length)));
        }
        return entries;
    }

    private static byte[] bytes(ByteBuffer in, int length) {
        byte[] found = new byte[length];
        in.get(found);
        return found;
    }
}
