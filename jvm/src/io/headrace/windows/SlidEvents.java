package io.headrace.windows;

import io.headrace.operators.Arrivals;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.LongConsumer;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;

/**
 * The events of the key at hand: few together in one value, of which there is one read and one
 * write in a batch, and more in pages, each under its number.
 *
 * <p>Nothing is searched for. To find the entries of a key, a store passes over those that others
 * have deleted, one by one; where many keys forget at a time, each would pass over all the rest.
 */
final class SlidEvents {
    /** An event without a page is in the value itself. */
    static final int NO_PAGE = 0;

    /** How many the value has before they become a page. */
    private static final int PAGE = 64;

    private final ValueState<byte[]> state;
    private final MapState<Integer, byte[]> pages;
    private final Arrivals arrivals;

    /** The events in their order; others may be added and removed. */
    private TreeSet<Slid> events;

    /** The pages that the store has. */
    private List<Integer> stored;

    /** The moment for which the key's timer is set; one that has passed is none. */
    private long alarm;

    private boolean wasStored;
    private int wereThere;

    SlidEvents(StatefulProcessorHandle handle, String name, Arrivals arrivals) {
        this.state = handle.getValueState("events-" + name, Encoders.BINARY(), TTLConfig.NONE());
        this.pages =
                handle.getMapState(
                        "pages-" + name, Encoders.INT(), Encoders.BINARY(), TTLConfig.NONE());
        this.arrivals = arrivals;
    }

    /** Turns to another key, and gives its events. */
    TreeSet<Slid> open() {
        events = new TreeSet<>(Slid.ORDER);
        stored = new ArrayList<>();
        alarm = Long.MAX_VALUE;
        byte[] value = state.get();
        wasStored = value != null;
        if (wasStored) {
            ByteBuffer in = ByteBuffer.wrap(value);
            alarm = in.getLong();
            for (int left = in.getInt(); left > 0; left--) {
                stored.add(in.getInt());
            }
            read(in, NO_PAGE);
            stored.forEach(page -> read(ByteBuffer.wrap(pages.getValue(page)), page));
        }
        wereThere = events.size();
        return events;
    }

    private void read(ByteBuffer in, int page) {
        while (in.hasRemaining()) {
            byte[] one = new byte[in.getInt()];
            in.get(one);
            events.add(Slid.read(one, arrivals, page));
        }
    }

    /**
     * Writes what has changed.
     *
     * <p>A timer that comes too soon is let be. When it fires it finds nothing to do, and the next
     * one is set; to set another whenever the moment moves would be a timer for each event.
     *
     * @param next when the watermark changes something about the events next
     * @param watermark the current one
     * @param setTimer takes a moment
     */
    void store(long next, long watermark, LongConsumer setTimer) {
        if (events.isEmpty()) {
            stored.forEach(pages::removeKey);
            if (wasStored) {
                state.clear();
            }
            return;
        }
        boolean isTimed = alarm > watermark && alarm <= next;
        boolean isSame = events.stream().noneMatch(slid -> slid.changed);
        if (isSame && events.size() == wereThere && isTimed) {
            return;
        }
        Map<Integer, List<Slid>> byPage = new TreeMap<>();
        byPage.put(NO_PAGE, new ArrayList<>());
        for (Slid slid : events) {
            byPage.computeIfAbsent(slid.page, absent -> new ArrayList<>()).add(slid);
        }
        List<Slid> open = byPage.remove(NO_PAGE);
        if (open.size() >= PAGE) {
            int number = stored.isEmpty() ? NO_PAGE + 1 : stored.get(stored.size() - 1) + 1;
            open.forEach(slid -> slid.changed = true);
            byPage.put(number, open);
            open = List.of();
        }
        stored.stream().filter(page -> !byPage.containsKey(page)).forEach(pages::removeKey);
        byPage.forEach(this::storePage);
        if (!isTimed) {
            alarm = next;
            setTimer.accept(next);
        }
        ByteBuffer head = ByteBuffer.allocate(Long.BYTES + Integer.BYTES * (1 + byPage.size()));
        head.putLong(alarm).putInt(byPage.size());
        byPage.keySet().forEach(head::putInt);
        state.update(written(head.array(), open));
    }

    /** Writes a page; events that it has and the key has no more wait for the last of them. */
    private void storePage(int page, List<Slid> slids) {
        if (slids.stream().anyMatch(slid -> slid.changed)) {
            pages.updateValue(page, written(new byte[0], slids));
        }
    }

    private static byte[] written(byte[] head, List<Slid> slids) {
        List<byte[]> parts = slids.stream().map(Slid::stored).toList();
        int length = head.length;
        for (byte[] part : parts) {
            length += Integer.BYTES + part.length;
        }
        ByteBuffer out = ByteBuffer.allocate(length).put(head);
        parts.forEach(part -> out.putInt(part.length).put(part));
        return out.array();
    }
}
