package io.headrace.groups;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * A stretch of a group's values, in order.
 *
 * @param height how many pages lie below it; 0 if its entries are the values themselves
 * @param entries the values and their numbers; above others, of each page its first value and what
 *     it is found by
 */
record Page(int height, List<Entry> entries) {
    private static final int HEADER = Integer.BYTES * 2;

    /** A value, packed, and how often it is there, or which page begins with it. */
    record Entry(byte[] value, long number) {
        int size() {
            return Integer.BYTES + Long.BYTES + value.length;
        }
    }

    static Page empty() {
        return new Page(0, List.of());
    }

    boolean isEmpty() {
        return entries.isEmpty();
    }

    /** The smallest value of the page, and of all below it. */
    byte[] first() {
        return entries.get(0).value();
    }

    Entry last() {
        return entries.get(entries.size() - 1);
    }

    static int size(List<Entry> entries) {
        int size = HEADER;
        for (Entry entry : entries) {
            size += entry.size();
        }
        return size;
    }

    int size() {
        return size(entries);
    }

    byte[] toBytes() {
        ByteBuffer out = ByteBuffer.allocate(size()).putInt(height).putInt(entries.size());
        for (Entry entry : entries) {
            out.putLong(entry.number()).putInt(entry.value().length).put(entry.value());
        }
        return out.array();
    }

    /** Reads what {@link #toBytes} gave. */
    static Page of(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        int height = in.getInt();
        int count = in.getInt();
        List<Entry> entries = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            long number = in.getLong();
            byte[] value = new byte[in.getInt()];
            in.get(value);
            entries.add(new Entry(value, number));
        }
        return new Page(height, entries);
    }
}
