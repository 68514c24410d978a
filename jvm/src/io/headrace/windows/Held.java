package io.headrace.windows;

import java.nio.ByteBuffer;

/** One window of a key: what it has gathered, and what it has fired. Times in microseconds. */
final class Held {
    private static final int HEADER = 1 + 8 + 8 + 8 + 8 + 4 + 4;
    private static final int SPAN = 4 + 8 + 8;
    private static final int STANDING = 4 + 4 + 8 + 8;

    private static final int WAS_ON_TIME = 1;
    private static final int HAS_STANDING = 2;
    private static final int HAS_SPAN = 4;
    private static final int WAS_EVER_ON_TIME = 8;

    /** Where it begins; the number of one that is bound by a count. */
    final long start;

    /** The first moment after it. */
    final long end;

    /** What its events come to. */
    Buffer buffer;

    /** How many events came since it fired last. */
    int pending;

    /** How many panes it has given. */
    int number;

    /** Whether it has fired because the watermark had passed its end. */
    boolean onTime;

    /** Whether it, or one that it was made of, has fired so, though it may be open again. */
    boolean wasOnTime;

    /** How many marks of an early firing by time the watermark has passed. */
    long mark;

    /** The moment for which a timer was set last, where it has timers of its own. */
    long alarm = Long.MAX_VALUE;

    /** The pane that stands and may be taken back, or null. */
    Standing standing;

    /** How many events a window that is bound by a count has, and between which times. */
    Span span;

    /** Whether the state store has another version of it, or none. */
    boolean changed;

    /** Whether it is to fire a correction. */
    boolean marked;

    /** A pane as it was given: its values, its number, and its bounds then. */
    record Standing(byte[] result, int number, Bounds bounds) {}

    /** What a pane tells of its window; a window without bounds has {@link #NONE}. */
    record Bounds(long start, long end) {
        static final Bounds NONE = new Bounds(Long.MIN_VALUE, Long.MIN_VALUE);
    }

    /** How many events there are, and the least and the greatest of their times. */
    record Span(int events, long first, long last) {}

    Held(long start, long end, Buffer buffer) {
        this.start = start;
        this.end = end;
        this.buffer = buffer;
        this.changed = true;
    }

    /** Reads what {@link #stored} has written. */
    static Held read(ByteBuffer in, Evaluator evaluator) {
        int flags = in.get();
        Held held = new Held(in.getLong(), in.getLong(), null);
        held.mark = in.getLong();
        held.alarm = in.getLong();
        held.pending = in.getInt();
        held.number = in.getInt();
        held.onTime = (flags & WAS_ON_TIME) != 0;
        held.wasOnTime = (flags & WAS_EVER_ON_TIME) != 0;
        if ((flags & HAS_SPAN) != 0) {
            held.span = new Span(in.getInt(), in.getLong(), in.getLong());
        }
        if ((flags & HAS_STANDING) != 0) {
            byte[] result = next(in, in.getInt());
            int number = in.getInt();
            Bounds bounds = new Bounds(in.getLong(), in.getLong());
            held.standing = new Standing(result, number, bounds);
        }
        held.buffer = evaluator.load(next(in, in.remaining()));
        held.changed = false;
        return held;
    }

    /** Gives what the state store is to keep. */
    byte[] stored(Evaluator evaluator) {
        byte[] gathered = evaluator.store(buffer);
        int length = HEADER + gathered.length;
        int flags = (onTime ? WAS_ON_TIME : 0) | (wasOnTime ? WAS_EVER_ON_TIME : 0);
        if (span != null) {
            length += SPAN;
            flags |= HAS_SPAN;
        }
        if (standing != null) {
            length += STANDING + standing.result().length;
            flags |= HAS_STANDING;
        }
        ByteBuffer out = ByteBuffer.allocate(length).put((byte) flags);
        out.putLong(start).putLong(end).putLong(mark).putLong(alarm);
        out.putInt(pending).putInt(number);
        if (span != null) {
            out.putInt(span.events()).putLong(span.first()).putLong(span.last());
        }
        if (standing != null) {
            out.putInt(standing.result().length).put(standing.result());
            out.putInt(standing.number());
            out.putLong(standing.bounds().start()).putLong(standing.bounds().end());
        }
        return out.put(gathered).array();
    }

    private static byte[] next(ByteBuffer in, int length) {
        byte[] found = new byte[length];
        in.get(found);
        return found;
    }
}
