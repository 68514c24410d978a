package io.headrace.tables;

import java.nio.ByteBuffer;

/**
 * What is kept of a key: its row, unless that was deleted, and how far its changes have been seen.
 *
 * @param row the packed row, or null after a deletion
 * @param shape a number that stands for the columns of the row
 * @param last where the last change was read, and when it was made
 * @param streamed the place of the last change that was no row of a snapshot, or null
 * @param snapshot the position of the snapshot that the row is from; {@link #NONE} if a change came
 *     after it, or its snapshot told none
 */
record Kept(byte[] row, int shape, Origin last, Place streamed, long snapshot) {
    static final long NONE = Long.MIN_VALUE;

    private static final byte VERSION = 1;
    private static final int HAS_ROW = 1;
    private static final int HAS_PLACE = 2;
    private static final int HEADER = 2 + Integer.BYTES * 2 + Long.BYTES * 6;

    /** What is kept after a change, which may have been filled up with what was kept before. */
    static Kept after(Change change, byte[] row, int shape, Kept before) {
        Place known = before == null ? null : before.streamed;
        boolean isSnapshot = change.isSnapshot();
        return new Kept(
                row,
                shape,
                change.origin(),
                isSnapshot || change.place() == null ? known : change.place(),
                isSnapshot && change.place() != null ? change.place().position() : NONE);
    }

    /**
     * Whether a captured change tells what is known already.
     *
     * <p>The changes of a key come in one partition, in the order of their commits; what comes later
     * there is newer. A connector that goes back repeats changes, and only those are passed over:
     * their place and their time are both not beyond what is known. If just one of them is, the
     * database itself has gone back, and the log is right.
     */
    boolean hasSeen(Change change) {
        Place place = change.place();
        if (place == null || change.at() > last.at()) {
            return false;
        }
        if (change.isSnapshot()) {
            long newest = streamed == null ? snapshot : Math.max(streamed.position(), snapshot);
            return place.position() < newest;
        }
        if (streamed != null && place.compareTo(streamed) <= 0) {
            return true;
        }
        // Behind a snapshot's row in its own partition, a change is newer whatever its position:
        // it may have been written before the snapshot and committed after it.
        return change.partition() != last.partition() && place.position() < snapshot;
    }

    /** Whether a topic's record is older than the one that was seen last. */
    boolean isBeyond(Change record) {
        if (record.partition() == last.partition()) {
            return false;
        }
        return record.at() == last.at()
                ? record.partition() < last.partition()
                : record.at() < last.at();
    }

    /** When the last change was made, in microseconds. */
    long at() {
        return last.at();
    }

    boolean isDeleted() {
        return row == null;
    }

    /** Whether these are the columns that the row was kept with. */
    boolean hasShape(int wanted) {
        return row == null || shape == wanted;
    }

    byte[] toBytes() {
        int flags = (row == null ? 0 : HAS_ROW) | (streamed == null ? 0 : HAS_PLACE);
        Place place = streamed == null ? new Place(0, 0, 0) : streamed;
        ByteBuffer buffer = ByteBuffer.allocate(HEADER + (row == null ? 0 : row.length));
        buffer.put(VERSION).put((byte) flags).putInt(shape).putInt(last.partition());
        buffer.putLong(last.offset()).putLong(last.at()).putLong(snapshot);
        buffer.putLong(place.position()).putLong(place.major()).putLong(place.minor());
        if (row != null) {
            buffer.put(row);
        }
        return buffer.array();
    }

    /** Reads what {@link #toBytes()} gave; null for null. */
    static Kept of(byte[] bytes) {
        if (bytes == null) {
            return null;
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        byte version = buffer.get();
        if (version != VERSION) {
            throw new IllegalStateException("rows of a table are kept in version " + version);
        }
        int flags = buffer.get();
        int shape = buffer.getInt();
        Origin last = new Origin(buffer.getInt(), buffer.getLong(), buffer.getLong());
        long snapshot = buffer.getLong();
        Place place = new Place(buffer.getLong(), buffer.getLong(), buffer.getLong());
        byte[] row = null;
        if ((flags & HAS_ROW) != 0) {
            row = new byte[buffer.remaining()];
            buffer.get(row);
        }
        return new Kept(row, shape, last, (flags & HAS_PLACE) == 0 ? null : place, snapshot);
    }
}
