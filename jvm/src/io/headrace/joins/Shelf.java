package io.headrace.joins;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** The rows of a key and side that lie in one stretch of time. Times in microseconds. */
final class Shelf {
    private static final int HEADER = 8;
    private static final int ROW = 8 + 1 + 4;

    /** Whose rows they are. */
    final boolean isLeft;

    /** Which stretch of time it is, counted from the epoch. */
    final long number;

    final List<Waiting> rows = new ArrayList<>(2);

    /** The last moment before which nothing is to be done; a timer is set behind it. */
    long quietUntil = Long.MIN_VALUE;

    /** Whether the state store has another version of it, or none. */
    boolean changed;

    /** Whether the state store has one at all. */
    boolean stored;

    /** A row that waits for partners: its side, time and bytes, and whether it has had one. */
    static final class Waiting {
        final boolean isLeft;
        final long at;
        final byte[] row;
        boolean matched;

        Waiting(boolean isLeft, long at, byte[] row, boolean matched) {
            this.isLeft = isLeft;
            this.at = at;
            this.row = row;
            this.matched = matched;
        }
    }

    Shelf(boolean isLeft, long number) {
        this.isLeft = isLeft;
        this.number = number;
    }

    /** The number of a shelf and its side in one, by which the state store knows it. */
    static long place(boolean isLeft, long number) {
        return number * 2 + (isLeft ? 0 : 1);
    }

    long place() {
        return place(isLeft, number);
    }

    /** Reads what {@link #bytes} has written. */
    static Shelf read(long place, byte[] bytes) {
        Shelf shelf = new Shelf(Math.floorMod(place, 2L) == 0, Math.floorDiv(place, 2L));
        ByteBuffer in = ByteBuffer.wrap(bytes);
        shelf.quietUntil = in.getLong();
        while (in.hasRemaining()) {
            long at = in.getLong();
            boolean matched = in.get() != 0;
            byte[] row = new byte[in.getInt()];
            in.get(row);
            shelf.rows.add(new Waiting(shelf.isLeft, at, row, matched));
        }
        shelf.stored = true;
        return shelf;
    }

    /** Gives what the state store is to keep. */
    byte[] bytes() {
        int length = HEADER;
        for (Waiting waiting : rows) {
            length += ROW + waiting.row.length;
        }
        ByteBuffer out = ByteBuffer.allocate(length).putLong(quietUntil);
        for (Waiting waiting : rows) {
            out.putLong(waiting.at).put((byte) (waiting.matched ? 1 : 0));
            out.putInt(waiting.row.length).put(waiting.row);
        }
        return out.array();
    }

    /** Whether no timer was ever set for it. */
    boolean isNew() {
        return quietUntil == Long.MIN_VALUE;
    }

    void add(Waiting waiting) {
        rows.add(waiting);
        changed = true;
    }
}
