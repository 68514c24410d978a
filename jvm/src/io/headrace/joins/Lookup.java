package io.headrace.joins;

import io.headrace.joins.LookupTerms.Missing;
import io.headrace.joins.LookupTerms.When;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimerValues;

/** What all joins of a stream with a table have in common: the rows, the answers, and the time. */
abstract class Lookup extends StatefulProcessor<Row, Row, Row> {
    private static final long serialVersionUID = 1L;
    private static final long MICROS = 1_000;

    /** Where the turn of a change, and the key, are in a row that comes in; the rest as in a join. */
    static final int TURN = 5;

    static final int KEY = 6;

    protected final LookupTerms terms;

    Lookup(LookupTerms terms) {
        this.terms = terms;
    }

    /** A change of the table: the row from a time on, or that it is gone. */
    protected record Change(byte[] key, long turn, long at, byte[] row) {
        static Change of(Row row) {
            boolean isTimed = !row.isNullAt(IntervalJoin.AT);
            return new Change(
                    row.getAs(KEY),
                    row.getLong(TURN),
                    isTimed ? row.getLong(IntervalJoin.AT) : Long.MIN_VALUE,
                    row.getAs(IntervalJoin.ROW));
        }
    }

    /** Tells an event with its row, or what is to be told where there is none. */
    protected final void answer(byte[] event, byte[] row, JoinedRows out) {
        if (row != null) {
            out.matched();
            out.joined(event, row);
        } else if (terms.missing() == Missing.SIDE_OUTPUT) {
            out.missing(event);
        } else {
            out.unmatched(true, event, terms.tellsMissing());
        }
    }

    /** Sets an event apart if it is late; gives whether it was. */
    protected final boolean isSetApart(byte[] event, long at, long watermark, JoinedRows out) {
        boolean isLate = terms.when() != When.LATEST && at < watermark - terms.retention();
        if (isLate) {
            out.late(true, event, Math.floorDiv(watermark - at, MICROS), terms.keepsLate());
        }
        return isLate;
    }

    /** Takes a row of no key: a dead letter, or an event, which is late or finds no row. */
    protected final void takeKeyless(Row row, TimerValues timers, JoinedRows out) {
        byte[] event = row.getAs(IntervalJoin.ROW);
        out.came(1);
        if (!row.isNullAt(IntervalJoin.CARRIED)) {
            out.dead(row.getAs(IntervalJoin.CARRIED));
        } else if (row.isNullAt(IntervalJoin.AT)) {
            out.late(true, event, null, terms.keepsLate());
        } else if (!isSetApart(
                event, row.getLong(IntervalJoin.AT), watermarkFor(row, timers), out)) {
            answer(event, null, out);
        }
    }

    /**
     * Notes when versions have to be looked at next, if that is not noted yet.
     *
     * @return whether somebody has to be told of it
     */
    protected final boolean isToBeSeen(Versions versions, long watermark) {
        long next = versions.nextEnd();
        // Of several the earliest serves for all: it notes the next.
        boolean isPassed = versions.alarm <= watermark;
        if (next == Long.MAX_VALUE || !isPassed && next + terms.retention() >= versions.alarm) {
            return false;
        }
        versions.alarm = next + terms.retention();
        versions.changed = true;
        return true;
    }

    /** The time of the timer for the first watermark that is at or beyond a moment. */
    protected final long timer(long moment) {
        long later = moment + Math.max(0, terms.behind());
        return -Math.floorDiv(-later, MICROS);
    }

    /** The watermark that an event is judged by: behind another join, that of the batch before. */
    protected final long watermarkFor(Row event, TimerValues timers) {
        return terms.behind() < 0
                ? now(timers)
                : event.getLong(IntervalJoin.BEFORE) * MICROS - terms.behind();
    }

    protected final long now(TimerValues timers) {
        return timers.getCurrentWatermarkInMs() * MICROS - Math.max(0, terms.behind());
    }
}
