package io.headrace.tables;

import java.nio.ByteBuffer;

/**
 * What is kept of a key: its row, unless that was deleted, and how far its changes have been seen.
 *
 * @param row the packed row, or null after a deletion
 * @param shape a number that stands for the columns of the row
 * @param last where the last change was read, and the latest time that a change was made at
 * @param streamed the place of the last change that was no row of a snapshot, or null
 * @param snapshot the position of the last snapshot that held the row; {@link #NONE} if none did
 * @param isSnapshot whether no change came after it
 */
record Kept(
        byte[] row, int shape, Origin last, Place streamed, long snapshot, boolean isSnapshot) {
    static final long NONE = Long.MIN_VALUE;

    private static final byte VERSION = 1;
    private static final int HAS_ROW = 1;
    private static final int HAS_PLACE = 2;
    private static final int IS_SNAPSHOT = 4;
    private static final int HEADER = 2 + Integer.BYTES * 2 + Long.BYTES * 6;

    /** What is kept after a change, which may have been filled up with what was kept before. */
    static Kept after(Change change, byte[] row, int shape, Kept before) {
        Place place = change.place();
        boolean isSnapshot = change.isSnapshot();
        boolean goesOn = before != null && before.goesOnWith(change);
        Place known = goesOn ? before.streamed : null;
        long held = goesOn ? before.snapshot : NONE;
        return new Kept(
                row,
                shape,
                goesOn ? change.origin().notBefore(before.at()) : change.origin(),
                isSnapshot ? known : place,
                isSnapshot && place != null ? place.position() : held,
                isSnapshot);
    }

    /**
     * Whether places and times are still those of one database. A snapshot below what is known is
     * one of a database that was put back, and a change without a place is not the database's own.
     */
    private boolean goesOnWith(Change change) {
        if (change.place() == null) {
            return false;
        }
        long known = streamed == null ? snapshot : Math.max(streamed.reach(), snapshot);
        return !change.isSnapshot() || known <= change.place().position();
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
            // A change of one LSN may be held by a snapshot of the same.
            return place.position() <= snapshot
                    || streamed != null && place.position() < streamed.reach();
        }
        if (streamed != null && place.isReached(streamed)) {
            return true;
        }
        // Behind a snapshot's row in its own partition, a change is newer whatever its position:
        // it may have been written before the snapshot and committed after it.
        boolean isElsewhere = change.partition() != last.partition();
        return isElsewhere && isSnapshot && place.position() < snapshot;
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

    /** The latest time that a change was made at, in microseconds. */
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
        int flags =
                (row == null ? 0 : HAS_ROW)
                        | (streamed == null ? 0 : HAS_PLACE)
                        | (isSnapshot ? IS_SNAPSHOT : 0);
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
        Place streamed = (flags & HAS_PLACE) == 0 ? null : place;
        return new Kept(row, shape, last, streamed, snapshot, (flags & IS_SNAPSHOT) != 0);
    }
}
