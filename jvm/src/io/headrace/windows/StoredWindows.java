package io.headrace.windows;

import io.headrace.windows.Held.Bounds;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;

/**
 * The windows of a key as bytes, in the order of their ends: their bounds, and what was gathered.
 *
 * <p>The first one can be looked at, and those at the beginning taken away, without reading others.
 */
final class StoredWindows {
    private static final int HEADER = Long.BYTES + Long.BYTES + Integer.BYTES;

    private final ByteBuffer bytes;

    StoredWindows(byte[] bytes) {
        this.bytes = ByteBuffer.wrap(bytes);
    }

    /** Gives the bytes of windows, which have to be in order. */
    static byte[] of(SortedMap<Bounds, Buffer> windows, Evaluator evaluator) {
        int length = 0;
        List<byte[]> gathered = new ArrayList<>(windows.size());
        for (Buffer buffer : windows.values()) {
            byte[] stored = evaluator.store(buffer);
            gathered.add(stored);
            length += HEADER + stored.length;
        }
        ByteBuffer out = ByteBuffer.allocate(length);
        int i = 0;
        for (Bounds each : windows.keySet()) {
            byte[] stored = gathered.get(i++);
            out.putLong(each.start()).putLong(each.end()).putInt(stored.length).put(stored);
        }
        return out.array();
    }

    boolean isEmpty() {
        return !bytes.hasRemaining();
    }

    /** Where the next window lies. */
    Bounds next() {
        int at = bytes.position();
        return new Bounds(bytes.getLong(at), bytes.getLong(at + Long.BYTES));
    }

    /** Takes the next window away, and gives what it has gathered. */
    Buffer take(Evaluator evaluator) {
        int at = bytes.position() + HEADER;
        int length = bytes.getInt(at - Integer.BYTES);
        bytes.position(at + length);
        return evaluator.load(Arrays.copyOfRange(bytes.array(), at, at + length));
    }

    /** Reads all that are left. */
    void into(Map<Bounds, Buffer> windows, Evaluator evaluator) {
        while (!isEmpty()) {
            windows.put(next(), take(evaluator));
        }
    }

    /** Gives the bytes of those that are left. */
    byte[] rest() {
        return Arrays.copyOfRange(bytes.array(), bytes.position(), bytes.limit());
    }
}
