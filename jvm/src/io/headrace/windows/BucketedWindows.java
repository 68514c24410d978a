package io.headrace.windows;

import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import io.headrace.windows.Held.Bounds;
import io.headrace.windows.PaneRows.Kind;
import io.headrace.windows.PaneRows.Label;
import java.util.Arrays;
import java.util.Collections;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.TimerValues;
import scala.Tuple2;
import scala.collection.BufferedIterator;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Tumbling and hopping windows that fire once, of many keys together.
 *
 * <p>Events only gather; all windows fire by the timers of their {@link Cells}, which Spark runs
 * behind the events of a batch. A key's windows fire in the order of their ends.
 *
 * <p>State: for each key and window what its events come to, until the watermark has passed the
 * window's end. Late events: those whose windows the watermark has passed. After a restart: goes on
 * from the last committed batch.
 */
final class BucketedWindows extends BucketOperator {
    private static final long serialVersionUID = 1L;

    /** Where the bucket is in the key of a group. */
    private static final int BUCKET = 0;

    private transient Cells cells;

    BucketedWindows(WindowTerms terms, Aggregation aggregation, Parcel parcel) {
        super(terms, aggregation, parcel);
    }

    @Override
    void openState() {
        cells = new Cells(getHandle(), terms, evaluator);
    }

    @Override
    public Iterator<Row> handleInputRows(Row group, Iterator<Row> rows, TimerValues timers) {
        PaneRows out = new PaneRows(null, null);
        BufferedIterator<Row> all = rows.buffered();
        long watermark = watermarkFor(all.head(), timers);
        byte[] key = null;
        int bucket = group.getInt(BUCKET);
        cells.open(bucket);
        for (Keyed each : inOrder(all, out)) {
            if (!Arrays.equals(key, each.key())) {
                key = each.key();
                cells.turnTo(key);
                out.turnTo(key);
            }
            count(each.event(), take(each.event(), bucket, watermark), watermark, out);
        }
        cells.close(this::timer);
        out.tally();
        return CollectionConverters.asScala(out.rows().iterator());
    }

    @Override
    public Iterator<Row> handleExpiredTimer(Row cell, TimerValues timers, ExpiredTimerInfo info) {
        return CollectionConverters.asScala(new Firing(now(timers)));
    }

    /** Puts an event into its windows; gives whether any of them is not over. */
    private boolean take(Arrivals.Arrival event, int bucket, long watermark) {
        boolean isTaken = false;
        long last = event.at() - Math.floorMod(event.at() - terms.offset(bucket), terms.every());
        for (long start = last; start + terms.size() > event.at(); start -= terms.every()) {
            Bounds window = new Bounds(start, start + terms.size());
            if (window.end() > watermark) {
                evaluator.update(cells.find(window), row(event));
                isTaken = true;
            }
        }
        return isTaken;
    }

    /** Fires the windows of a cell one key after the other, as it can have more than memory holds. */
    private final class Firing implements java.util.Iterator<Row> {
        private final long watermark;
        private final Iterator<Tuple2<byte[], byte[]>> entries = cells.entries();
        private java.util.Iterator<Row> panes = Collections.emptyIterator();

        /** The first end of a window that is not due yet. */
        private long next = Long.MAX_VALUE;

        Firing(long watermark) {
            this.watermark = watermark;
        }

        @Override
        public boolean hasNext() {
            while (!panes.hasNext() && entries.hasNext()) {
                Tuple2<byte[], byte[]> entry = entries.next();
                panes = fired(entry._1(), new StoredWindows(entry._2()));
                if (!entries.hasNext()) {
                    // The timer that fires is taken away behind its last pane.
                    alarm(next);
                }
            }
            return panes.hasNext();
        }

        @Override
        public Row next() {
            return panes.next();
        }

        private java.util.Iterator<Row> fired(byte[] key, StoredWindows windows) {
            PaneRows out = new PaneRows(key, null);
            boolean isDue = false;
            while (!windows.isEmpty() && windows.next().end() <= watermark) {
                isDue = true;
                Bounds window = windows.next();
                byte[] result = evaluator.result(windows.take(evaluator));
                if (isWanted(result)) {
                    out.pane(new Label(window, null, Kind.ON_TIME, 1), result, false);
                }
            }
            if (isDue) {
                cells.keep(key, windows);
            }
            if (!windows.isEmpty()) {
                next = Math.min(next, windows.next().end());
            }
            return out.rows().iterator();
        }
    }
}
