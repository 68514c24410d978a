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
 */
abstract class WindowProcessor extends WindowOperator {
    private static final long serialVersionUID = 1L;

    /** Where columns are in the key of a group. */
    private static final int KEY = 0;

    private static final int PART = 2;

    WindowProcessor(WindowTerms terms, Aggregation aggregation, Parcel parcel) {
        super(terms, aggregation, parcel);
    }

    /** Turns to a key, and fires what the watermark has made due. */
    abstract void begin(long watermark, PaneRows out, boolean hasEvents);

    /** Takes an event; gives whether it belongs to any window that is still held. */
    abstract boolean take(Arrivals.Arrival event, long watermark, PaneRows out);

    /** Fires corrections, and writes the state. */
    abstract void finish(long watermark, PaneRows out);

    @Override
    public Iterator<Row> handleInputRows(Row group, Iterator<Row> rows, TimerValues timers) {
        PaneRows out = rowsOf(group);
        if (group.isNullAt(KEY)) {
            while (rows.hasNext()) {
                setApart(rows.next().getAs(0), out);
            }
        } else {
            BufferedIterator<Row> all = rows.buffered();
            long watermark = watermarkFor(all.head(), timers);
            List<Arrivals.Arrival> events = arrivals.inOrder(all);
            begin(watermark, out, true);
            for (Arrivals.Arrival event : events) {
                count(event, take(event, watermark, out), watermark, out);
            }
            finish(watermark, out);
        }
        out.tally();
        return CollectionConverters.asScala(out.rows().iterator());
    }

    @Override
    public Iterator<Row> handleExpiredTimer(Row group, TimerValues timers, ExpiredTimerInfo info) {
        PaneRows out = rowsOf(group);
        long watermark = now(timers);
        begin(watermark, out, false);
        finish(watermark, out);
        return CollectionConverters.asScala(out.rows().iterator());
    }

    /** For the key of a group: its bytes, null for rows of no key, and the part of a spread one. */
    private static PaneRows rowsOf(Row group) {
        return new PaneRows(group.getAs(KEY), group.length() > PART ? group.getAs(PART) : null);
    }
}
