package io.headrace.windows;

import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.TimerValues;
import scala.collection.BufferedIterator;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Windows that are kept key by key: a key's events are taken in their order, those that come too
 * late are set apart, and panes fire when the watermark or the events say so.
 *
 * <p>In a batch a key first fires what the watermark has made due, then takes its events, then
 * corrects what they have changed. A key without events does the first alone, by its timers; so the
 * outcome is the same whether Spark runs a batch for the watermark's sake or not.
 *
 * <p>Behind a step that tells rows when the watermark moves, events are judged by the watermark of
 * the batch before, and this batch's makes most of them due at once. They fire with the events: a
 * timer would do the same later in the batch, for another read and write of the key's state and
 * those of the timer itself.
 */
abstract class WindowProcessor extends WindowOperator {
    private static final long serialVersionUID = 1L;

    /** Where columns are in the key of a group. */
    private static final int KEY = 0;

    private static final int PART = 2;

    WindowProcessor(WindowTerms terms, Aggregation aggregation, Parcel parcel) {
        super(terms, aggregation, parcel);
    }

    /** Hears which key is at hand. */
    void hear(byte[] key) {}

    /** Turns to a key. */
    abstract void open();

    /** Fires what a watermark has made due. */
    abstract void pass(long watermark, PaneRows out);

    /** Whether what is due fires when its key has events, and not by timers alone. */
    boolean passesWithEvents() {
        return true;
    }

    /** Takes an event; gives whether it belongs to any window that is still held. */
    abstract boolean take(Arrivals.Arrival event, long watermark, PaneRows out);

    /** Fires corrections of what the events have changed. */
    abstract void correct(PaneRows out);

    /** Writes the state; what no event can need any more is forgotten. */
    abstract void store(long watermark);

    @Override
    public Iterator<Row> handleInputRows(Row group, Iterator<Row> rows, TimerValues timers) {
        PaneRows out = rowsOf(group);
        if (group.isNullAt(KEY)) {
            while (rows.hasNext()) {
                setApart(rows.next().getAs(0), out);
            }
        } else {
            hear(group.getAs(KEY));
            BufferedIterator<Row> all = rows.buffered();
            long watermark = watermarkFor(all.head(), timers);
            takeAll(arrivals.inOrder(all), watermark, now(timers), out);
        }
        out.tally();
        return CollectionConverters.asScala(out.rows().iterator());
    }

    @Override
    public Iterator<Row> handleExpiredTimer(Row group, TimerValues timers, ExpiredTimerInfo info) {
        PaneRows out = rowsOf(group);
        long watermark = now(timers);
        hear(group.getAs(KEY));
        open();
        pass(watermark, out);
        store(watermark);
        return CollectionConverters.asScala(out.rows().iterator());
    }

    private void takeAll(
            List<Arrivals.Arrival> events, long judgedBy, long watermark, PaneRows out) {
        open();
        if (passesWithEvents()) {
            pass(judgedBy, out);
        }
        for (Arrivals.Arrival event : events) {
            count(event, take(event, judgedBy, out), judgedBy, out);
        }
        correct(out);
        if (watermark > judgedBy && passesWithEvents()) {
            pass(watermark, out);
            store(watermark);
        } else {
            store(judgedBy);
        }
    }

    /** For the key of a group: its bytes, null for rows of no key, and the part of a spread one. */
    private PaneRows rowsOf(Row group) {
        return new PaneRows(group.getAs(KEY), terms.spread() > 0 ? group.getAs(PART) : null);
    }
}
