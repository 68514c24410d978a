package io.headrace.windows;

import io.headrace.batches.Before;
import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;

/** What all kinds of windows share: how time passes, and what becomes of each row. */
abstract class WindowOperator extends StatefulProcessor<Row, Row, Row> {
    private static final long serialVersionUID = 1L;
    private static final long MICROS = 1_000;

    protected final WindowTerms terms;
    protected final Aggregation aggregation;
    private final Parcel parcel;
    protected final Arrivals arrivals;

    protected transient Evaluator evaluator;
    private transient Timers timers;

    WindowOperator(WindowTerms terms, Aggregation aggregation, Parcel parcel) {
        this.terms = terms;
        this.aggregation = aggregation;
        this.parcel = parcel;
        this.arrivals = new Arrivals(parcel, terms.time());
    }

    @Override
    public void init(OutputMode outputMode, TimeMode timeMode) {
        evaluator = aggregation.evaluator();
        timers = new Timers(getHandle());
        openState();
    }

    /** Declares the state variables. */
    abstract void openState();

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

    /** Whether a window can be corrected no more. */
    protected boolean isExpired(long end, long watermark) {
        return plus(end, terms.allowed()) <= watermark;
    }

    /** Counts an event; one that no window has taken is late. */
    protected void count(
            Arrivals.Arrival event, boolean isTaken, long watermark, PaneRows out) {
        if (isTaken) {
            out.onTime();
        } else if (terms.keepsLate()) {
            out.late(event.bytes(), Math.floorDiv(watermark - event.at(), MICROS));
        } else {
            out.dropped();
        }
    }

    /** Lets a dead letter pass; an event without a time can be in no window. */
    protected void setApart(byte[] bytes, PaneRows out) {
        if (arrivals.isDead(bytes)) {
            out.dead(bytes);
        } else if (terms.keepsLate()) {
            out.late(bytes, null);
        } else {
            out.dropped();
        }
    }

    /** Sets a timer for the first watermark that is at or beyond a moment, if that ever comes. */
    protected void alarm(long moment) {
        if (moment != Long.MAX_VALUE) {
            timers.set(timer(moment));
        }
    }

    /** The time of the timer for a moment. */
    protected long timer(long moment) {
        return -Math.floorDiv(-plus(moment, Math.max(0, terms.behind())), MICROS);
    }

    /**
     * The watermark that events are judged by. Behind a step that tells rows when the watermark
     * moves, it is that of the batch before; the timers fire behind them, in the same batch.
     */
    protected long watermarkFor(Row row, TimerValues timers) {
        return terms.isBehind()
                ? micros(row.<Long>getAs(Before.COLUMN)) - terms.behind()
                : now(timers);
    }

    /** The watermark under which timers have run in the batch before. */
    protected long watermarkBefore(Row row) {
        return micros(row.<Long>getAs(Before.COLUMN)) - Math.max(0, terms.behind());
    }

    protected long now(TimerValues timers) {
        return micros(timers.getCurrentWatermarkInMs()) - Math.max(0, terms.behind());
    }

    /** Adds; what is too large for a number is the end of time. */
    protected static long plus(long time, long duration) {
        return time > Long.MAX_VALUE - duration ? Long.MAX_VALUE : time + duration;
    }

    private static long micros(long millis) {
        return millis > Long.MAX_VALUE / MICROS ? Long.MAX_VALUE : millis * MICROS;
    }
}
