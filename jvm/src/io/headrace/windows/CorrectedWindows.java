package io.headrace.windows;

import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import io.headrace.windows.CorrectedCells.Kept;
import io.headrace.windows.Held.Bounds;
import io.headrace.windows.PaneRows.Kind;
import io.headrace.windows.PaneRows.Label;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.TimerValues;
import scala.Tuple2;
import scala.collection.BufferedIterator;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Tumbling windows that fire when they end and are corrected for a while, of many keys together.
 *
 * <p>When a window ends, all keys of its bucket fire by one timer, and nothing is written: that a
 * window has fired is told by the watermark of the batch before, under which the timers of that
 * batch have run. A late event that meets a window which is due and has not fired yet, as its timer
 * runs behind the events of the same batch, fires it for its key, and says so in the key's entry.
 *
 * <p>State: for each key and window what its events come to, until the watermark has passed the
 * window's end and the time in which it is corrected. Late events: those that come after that.
 * After a restart: goes on from the last committed batch.
 */
final class CorrectedWindows extends BucketOperator {
    private static final long serialVersionUID = 1L;

    /** Where columns are in the key of a group: that of a cell has both. */
    private static final int END = 0;

    private static final int BUCKET = 1;

    private transient CorrectedCells cells;

    CorrectedWindows(WindowTerms terms, Aggregation aggregation, Parcel parcel) {
        super(terms, aggregation, parcel);
    }

    @Override
    void openState() {
        cells = new CorrectedCells(getHandle(), terms.name(), evaluator);
    }

    @Override
    public Iterator<Row> handleInputRows(Row group, Iterator<Row> rows, TimerValues timers) {
        PaneRows out = new PaneRows(null, null);
        BufferedIterator<Row> all = rows.buffered();
        long watermark = watermarkFor(all.head(), timers);
        long fired = watermarkBefore(all.head());
        int bucket = group.getInt(BUCKET);
        List<Keyed> events = inOrder(all, out);
        cells.open(bucket);
        for (Keyed each : events) {
            long end = end(each.event(), bucket);
            if (!isExpired(end, watermark)) {
                cells.expect(end, each.key());
            }
        }
        cells.readExpected();
        byte[] key = null;
        for (Keyed each : events) {
            if (!Arrays.equals(key, each.key())) {
                correct(out);
                key = each.key();
                cells.turnTo(key);
                out.turnTo(key);
            }
            long end = end(each.event(), bucket);
            boolean isTaken = !isExpired(end, watermark);
            if (isTaken) {
                take(each.event(), end, watermark, fired, out);
            }
            count(each.event(), isTaken, watermark, out);
        }
        correct(out);
        cells.close((end, cell) -> setTimer(cell, end, end > watermark));
        out.tally();
        return CollectionConverters.asScala(out.rows().iterator());
    }

    @Override
    public Iterator<Row> handleExpiredTimer(Row timed, TimerValues timers, ExpiredTimerInfo info) {
        long end = timed.getLong(END);
        int bucket = timed.getInt(BUCKET);
        java.util.Iterator<Row> panes =
                bucket >= 0
                        ? ended(timed, end, now(timers))
                        : forgotten(CorrectedCells.cell(end, ~bucket), end, now(timers));
        // Spark takes the timer away that fires, by the key that is noted.
        ImplicitGroupingKeyTracker.setImplicitKey(timed);
        return CollectionConverters.asScala(panes);
    }

    /**
     * Fires a window. A timer that comes too soon, as it was set when the step was declared
     * otherwise, is set anew.
     */
    private java.util.Iterator<Row> ended(Row cell, long end, long watermark) {
        boolean isTooSoon = end > watermark;
        boolean isExpired = isExpired(end, watermark);
        Firing panes = isTooSoon ? null : new Firing(end, isExpired);
        if (!isExpired) {
            setTimer(cell, end, isTooSoon);
        }
        return isTooSoon ? Collections.emptyIterator() : panes;
    }

    /** Takes a window away that can be corrected no more. */
    private java.util.Iterator<Row> forgotten(Row cell, long end, long watermark) {
        if (isExpired(end, watermark)) {
            cells.clear(cell);
        } else {
            setTimer(cell, end, false);
        }
        return Collections.emptyIterator();
    }

    /**
     * Sets the timer of a cell, for its end or for when it is forgotten. They are told apart by
     * their keys, not by their times, which follow from what is declared and may be declared anew.
     */
    private void setTimer(Row cell, long end, boolean isEnd) {
        int bucket = cell.getInt(BUCKET);
        ImplicitGroupingKeyTracker.setImplicitKey(
                isEnd ? cell : CorrectedCells.cell(end, ~bucket));
        alarm(isEnd ? end : plus(end, terms.allowed()));
    }

    private void take(
            Arrivals.Arrival event, long end, long watermark, long fired, PaneRows out) {
        Kept kept = cells.find(end);
        if (end <= watermark && !kept.hasFired) {
            if (!kept.isNew()) {
                if (end > fired) {
                    fire(kept, Kind.ON_TIME, out);
                } else {
                    kept.number++;
                }
            }
            kept.hasFired = true;
        }
        evaluator.update(kept.buffer, row(event));
        kept.isMarked = end <= watermark;
    }

    /** Fires corrections of what the key's events have changed. */
    private void correct(PaneRows out) {
        for (Kept kept : cells.ofKey()) {
            if (kept.isMarked) {
                fire(kept, Kind.LATE, out);
            }
        }
        cells.store();
    }

    private void fire(Kept kept, Kind kind, PaneRows out) {
        kept.number++;
        byte[] result = evaluator.result(kept.buffer);
        out.pane(new Label(bounds(kept.end), null, kind, kept.number), result, false);
    }

    private long end(Arrivals.Arrival event, int bucket) {
        long since = Math.floorMod(event.at() - terms.offset(bucket), terms.size());
        return event.at() - since + terms.size();
    }

    private Bounds bounds(long end) {
        return new Bounds(end - terms.size(), end);
    }

    /** Fires a window of all keys of a bucket, one key after the other. */
    private final class Firing implements java.util.Iterator<Row> {
        private final long end;
        private final boolean isLast;
        private final Iterator<Tuple2<byte[], byte[]>> entries = cells.entries();
        private Row next;

        Firing(long end, boolean isLast) {
            this.end = end;
            this.isLast = isLast;
        }

        @Override
        public boolean hasNext() {
            while (next == null && entries.hasNext()) {
                Tuple2<byte[], byte[]> entry = entries.next();
                Kept kept = cells.read(end, entry._2());
                if (!kept.hasFired) {
                    PaneRows out = new PaneRows(entry._1(), null);
                    fire(kept, Kind.ON_TIME, out);
                    next = out.rows().get(0);
                }
                if (isLast && !entries.hasNext()) {
                    cells.clear();
                }
            }
            return next != null;
        }

        @Override
        public Row next() {
            Row given = next;
            next = null;
            return given;
        }
    }
}
