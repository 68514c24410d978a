package io.headrace.windows;

import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What all kinds of windows share: a key's events are taken in their order, those that come too
 * late are set apart, and panes fire when the watermark or the events say so.
 *
 * <p>In a batch a key first fires what the watermark has made due, then takes its events, then
 * corrects what they have changed. A key without events does the first alone, by its timers; so the
 * outcome is the same whether Spark runs a batch for the watermark's sake or not.
 */
abstract class WindowProcessor extends StatefulProcessor<Row, Row, Row> {
    private static final long serialVersionUID = 1L;
    private static final long MICROS = 1_000;

    protected final WindowTerms terms;
    protected final Aggregation aggregation;
    private final Parcel parcel;
    protected final Arrivals arrivals;

    protected transient Evaluator evaluator;

    WindowProcessor(WindowTerms terms, Aggregation aggregation, Parcel parcel) {
        this.terms = terms;
        this.aggregation = aggregation;
        this.parcel = parcel;
        this.arrivals = new Arrivals(parcel, terms.time());
    }

    @Override
    public void init(OutputMode outputMode, TimeMode timeMode) {
        evaluator = aggregation.evaluator();
        openState();
    }

    /** Declares the state variables. */
    abstract void openState();

    /** Turns to a key, and fires what the watermark has made due. */
    abstract void begin(long watermark, PaneRows out, boolean hasEvents);

    /** Takes an event; gives whether it belongs to any window that is still held. */
    abstract boolean take(Arrivals.Arrival event, long watermark, PaneRows out);

    /** Fires corrections, and writes the state. */
    abstract void finish(long watermark, PaneRows out);

    @Override
    public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues timers) {
        PaneRows out = new PaneRows(key);
        if (key.isNullAt(0)) {
            setApart(rows, out);
            return CollectionConverters.asScala(out.rows().iterator());
        }
        scala.collection.BufferedIterator<Row> all = rows.buffered();
        long watermark = watermarkFor(all.head(), timers);
        long onTime = 0;
        long late = 0;
        List<Arrivals.Arrival> events = arrivals.inOrder(all);
        begin(watermark, out, true);
        for (Arrivals.Arrival event : events) {
            if (take(event, watermark, out)) {
                onTime++;
                continue;
            }
            late++;
            if (terms.keepsLate()) {
                out.late(event.bytes(), Math.floorDiv(watermark - event.at(), MICROS));
            }
        }
        finish(watermark, out);
        out.tally(events.size(), onTime, late);
        return CollectionConverters.asScala(out.rows().iterator());
    }

    @Override
    public Iterator<Row> handleExpiredTimer(Row key, TimerValues timers, ExpiredTimerInfo info) {
        PaneRows out = new PaneRows(key);
        long watermark = now(timers);
        begin(watermark, out, false);
        finish(watermark, out);
        return CollectionConverters.asScala(out.rows().iterator());
    }

    /** The columns of an event. */
    protected InternalRow row(Arrivals.Arrival event) {
        return parcel.unpack(event.bytes());
    }

    /** Whether a pane's values are as the step wants them to be. */
    protected boolean isWanted(byte[] result) {
        return !terms.having() || isTrue(result, aggregation.result().length() - 1);
    }

    static boolean isTrue(byte[] bytes, int field) {
        UnsafeRow row = new UnsafeRow(field + 1);
        row.pointTo(bytes, bytes.length);
        return !row.isNullAt(field) && row.getBoolean(field);
    }

    /** Sets a timer for the first watermark that is at or beyond a moment, if that ever comes. */
    protected void alarm(long moment) {
        if (moment != Long.MAX_VALUE) {
            long later = plus(moment, Math.max(0, terms.behind()));
            getHandle().registerTimer(-Math.floorDiv(-later, MICROS));
        }
    }

    /**
     * The watermark that events are judged by. Behind a step that tells rows when the watermark
     * moves, it is that of the batch before; the timers fire behind them, in the same batch.
     */
    private long watermarkFor(Row row, TimerValues timers) {
        return terms.isBehind()
                ? micros(row.<Long>getAs(Before.COLUMN)) - terms.behind()
                : now(timers);
    }

    private long now(TimerValues timers) {
        return micros(timers.getCurrentWatermarkInMs()) - Math.max(0, terms.behind());
    }

    /** Adds; what is too large for a number is the end of time. */
    protected static long plus(long time, long duration) {
        return time > Long.MAX_VALUE - duration ? Long.MAX_VALUE : time + duration;
    }


    /** Lets dead letters pass; an event without a time can be in no window. */
    private void setApart(Iterator<Row> rows, PaneRows out) {
        long all = 0;
        long late = 0;
        while (rows.hasNext()) {
            all++;
            byte[] bytes = rows.next().getAs(0);
            if (arrivals.isDead(bytes)) {
                out.dead(bytes);
                continue;
            }
            late++;
            if (terms.keepsLate()) {
                out.late(bytes, null);
            }
        }
        out.tally(all, 0, late);
    }

    private static long micros(long millis) {
        return millis > Long.MAX_VALUE / MICROS ? Long.MAX_VALUE : millis * MICROS;
    }
}
