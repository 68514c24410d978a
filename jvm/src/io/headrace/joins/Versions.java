package io.headrace.joins;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The versions of a key's row, each from a time on until the next one. Times in microseconds.
 *
 * <p>The log orders them: one that says to be older than the one before it holds from the same
 * moment on as that one, and takes its place.
 */
final class Versions {
    private static final int HEADER = 8;
    private static final int VERSION = 8 + 4;
    private static final int GONE = -1;

    private final List<Version> all = new ArrayList<>(1);

    /** The moment of the watermark for which a timer is set; the end of time if none is. */
    long alarm = Long.MAX_VALUE;

    /** Whether the state store has another version of this. */
    boolean changed;

    /** A row from a time on; null if there is none. */
    private record Version(long from, byte[] row) {}

    /** Reads what {@link #bytes} has written; null for none. */
    static Versions read(byte[] bytes) {
        Versions versions = new Versions();
        if (bytes == null) {
            return versions;
        }
        ByteBuffer in = ByteBuffer.wrap(bytes);
        versions.alarm = in.getLong();
        while (in.hasRemaining()) {
            long from = in.getLong();
            int length = in.getInt();
            byte[] row = length == GONE ? null : new byte[length];
            if (row != null) {
                in.get(row);
            }
            versions.all.add(new Version(from, row));
        }
        return versions;
    }

    byte[] bytes() {
        int length = HEADER;
        for (Version version : all) {
            length += VERSION + (version.row == null ? 0 : version.row.length);
        }
        ByteBuffer out = ByteBuffer.allocate(length).putLong(alarm);
        for (Version version : all) {
            out.putLong(version.from).putInt(version.row == null ? GONE : version.row.length);
            if (version.row != null) {
                out.put(version.row);
            }
        }
        return out.array();
    }

    boolean isEmpty() {
        return all.isEmpty();
    }

    /** Takes a change: the row from a time on, or that it is gone. */
    void add(long at, byte[] row) {
        long from = at;
        if (!all.isEmpty() && last().from >= at) {
            from = last().from;
            all.remove(all.size() - 1);
        }
        all.add(new Version(from, row));
        changed = true;
    }

    /** Gives the row at a time; null if there is none. */
    byte[] at(long time) {
        for (int i = all.size() - 1; i >= 0; i--) {
            if (all.get(i).from <= time) {
                return all.get(i).row;
            }
        }
        return null;
    }

    /** Gives the last row; null if there is none. */
    byte[] latest() {
        return all.isEmpty() ? null : last().row;
    }

    /** Leaves the last version alone, and not even that if it says that the row is gone. */
    void keepLatest() {
        Version last = last();
        all.clear();
        if (last.row != null) {
            all.add(last);
        }
    }

    /** Forgets the versions that no event can ask for which is not before a time. */
    void forgetBefore(long time) {
        while (nextEnd() <= time) {
            all.remove(0);
            changed = true;
        }
    }

    /** When the first version ends, or is gone without having been there; the end of time if not. */
    long nextEnd() {
        if (all.size() > 1) {
            return all.get(1).from;
        }
        return all.isEmpty() || last().row != null ? Long.MAX_VALUE : last().from;
    }

    private Version last() {
        return all.get(all.size() - 1);
    }
}
