package io.headrace.windows;

import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import io.headrace.windows.Held.Bounds;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;

/**
 * Windows whose bounds an event's own columns tell: tumbling, hopping, assigned by an expression,
 * and the one window without bounds.
 *
 * <p>State: for each key and window what its events come to, until the watermark has passed the
 * window's end and the time in which it is corrected. Late events: those of which no window is held
 * any more. After a restart: goes on from the last committed batch.
 */
final class AlignedWindows extends HeldProcessor {
    private static final long serialVersionUID = 1L;

    /** How many windows a key may have at a time for them to be kept all in one. */
    private static final long MOST_GATHERED = 16;

    /** What Spark's own function begins with. */
    private static final long SEED = 42;

    private final int start;
    private final int end;

    /** How far after the epoch the first window of the key begins. */
    private transient long offset;

    AlignedWindows(WindowTerms terms, Aggregation aggregation, Parcel parcel) {
        super(terms, aggregation, parcel);
        boolean isAssigned = terms.kind().equals("assigned");
        start = isAssigned ? parcel.schema().fieldIndex(Windows.START) : -1;
        end = isAssigned ? parcel.schema().fieldIndex(Windows.END) : -1;
    }

    @Override
    void hear(byte[] key) {
        offset = terms.isStaggered() ? terms.offset(bucket(key)) : terms.offset();
    }

    /** The bucket of a key, as it is where keys are grouped by it. */
    private int bucket(byte[] key) {
        long hash = XXH64.hashUnsafeBytes(key, Platform.BYTE_ARRAY_OFFSET, key.length, SEED);
        return Math.floorMod(hash, terms.buckets());
    }

    @Override
    boolean take(Arrivals.Arrival event, long watermark, PaneRows out) {
        switch (terms.kind()) {
            case "everything":
                return into(event, 0, Long.MAX_VALUE, watermark, out);
            case "assigned":
                InternalRow row = row(event);
                return !row.isNullAt(start)
                        && !row.isNullAt(end)
                        && row.getLong(start) < row.getLong(end)
                        && into(event, row.getLong(start), row.getLong(end), watermark, out);
            default:
                return intoEach(event, watermark, out);
        }
    }

    @Override
    Bounds bounds(Held held) {
        return terms.kind().equals("everything") ? Bounds.NONE : super.bounds(held);
    }

    @Override
    protected boolean isScattered() {
        switch (terms.kind()) {
            case "hopping":
                return terms.size() / terms.every() > MOST_GATHERED;
            case "assigned":
                return true;
            default:
                return false;
        }
    }

    @Override
    boolean passesWithEvents() {
        // Where a window fires once and is gone, no event meets one that is due: those fire by
        // their timers, in this very batch, and need not be read for each key that has events.
        return !isScattered() || terms.firesAgain();
    }

    private boolean intoEach(Arrivals.Arrival event, long watermark, PaneRows out) {
        boolean isHeld = false;
        long last = event.at() - Math.floorMod(event.at() - offset, terms.every());
        long first = last;
        while (first - terms.every() + terms.size() > event.at()) {
            first -= terms.every();
        }
        for (long begin = first; begin <= last; begin += terms.every()) {
            if (event.at() < begin + terms.size()) {
                isHeld |= into(event, begin, begin + terms.size(), watermark, out);
            }
        }
        return isHeld;
    }

    private boolean into(
            Arrivals.Arrival event, long begin, long ended, long watermark, PaneRows out) {
        if (isExpired(ended, watermark)) {
            return false;
        }
        Held held = windows.find(begin, ended);
        if (held == null) {
            held = new Held(begin, ended, evaluator.fresh());
            held.mark = marks(begin, watermark);
            windows.add(held);
        }
        gather(held, event);
        if (ended <= watermark) {
            held.onTime = true;
            held.marked = true;
        } else {
            fireEarly(held, out);
        }
        return true;
    }
}
