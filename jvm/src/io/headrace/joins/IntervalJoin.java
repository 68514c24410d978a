package io.headrace.joins;

import io.headrace.joins.Shelf.Waiting;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Puts rows of two streams together that have the same key and whose times are in an interval.
 *
 * <p>A row that is not late meets all that wait for it, then waits itself until the watermark has
 * passed the last moment at which a partner could come.
 *
 * <p>State: for each key and side the rows that wait. Late events: join nothing; given on with how
 * late they are, or only counted. After a restart: goes on from the last committed batch.
 */
final class IntervalJoin extends StatefulProcessor<Row, Row, Row> {
    private static final long serialVersionUID = 1L;
    private static final long MICROS = 1_000;
    private static final byte[] NOTHING = {};

    /** Where columns are in a row that comes in. */
    static final int ROW = 0;

    static final int IS_LEFT = 1;
    static final int AT = 2;
    static final int CARRIED = 3;
    static final int BEFORE = 4;

    private final JoinTerms terms;
    private transient Shelves shelves;

    IntervalJoin(JoinTerms terms) {
        this.terms = terms;
    }

    private record Arrival(boolean isLeft, long at, byte[] row) {}

    @Override
    public void init(OutputMode outputMode, TimeMode timeMode) {
        shelves = new Shelves(getHandle(), terms.name(), terms.width());
    }

    @Override
    public scala.collection.Iterator<Row> handleInputRows(
            Row key, scala.collection.Iterator<Row> rows, TimerValues timers) {
        JoinedRows out = new JoinedRows();
        scala.collection.BufferedIterator<Row> all = rows.buffered();
        long watermark = watermarkFor(all.head(), timers);
        if (key.isNullAt(0)) {
            setApart(all, watermark, out);
            return CollectionConverters.asScala(out.all().iterator());
        }
        List<Arrival> arrivals = inOrder(all);
        out.came(arrivals.size());
        shelves.open();
        for (Arrival arrival : arrivals) {
            if (arrival.at < watermark) {
                long by = Math.floorDiv(watermark - arrival.at, MICROS);
                out.late(arrival.isLeft, arrival.row, by, terms.keepsLate());
            } else {
                take(arrival, watermark, out);
            }
        }
        shelves.storeAll(Shelf::isNew, this::quietUntil, this::alarm);
        return CollectionConverters.asScala(out.all().iterator());
    }

    @Override
    public scala.collection.Iterator<Row> handleExpiredTimer(
            Row key, TimerValues timers, ExpiredTimerInfo info) {
        JoinedRows out = new JoinedRows();
        long watermark = now(timers);
        shelves.open();
        for (Waiting waiting : shelves.taken(row -> row.at + terms.hold(row.isLeft) < watermark)) {
            if (!waiting.matched) {
                out.unmatched(waiting.isLeft, waiting.row, terms.tellsUnmatched(waiting.isLeft));
            }
        }
        shelves.storeAll(
                shelf -> shelf.quietUntil < watermark, this::quietUntil, this::alarm);
        return CollectionConverters.asScala(out.all().iterator());
    }

    /** Lets a row meet its partners, then wait for more of them. */
    private void take(Arrival arrival, long watermark, JoinedRows out) {
        boolean isLeft = arrival.isLeft;
        long first = isLeft ? arrival.at + terms.from() : arrival.at - terms.to();
        long last = isLeft ? arrival.at + terms.to() : arrival.at - terms.from();
        boolean matched = false;
        for (long number = shelves.number(first); number <= shelves.number(last); number++) {
            Shelf shelf = shelves.find(!isLeft, number);
            Iterator<Waiting> partners = shelf.rows.iterator();
            while (partners.hasNext()) {
                Waiting partner = partners.next();
                if (first <= partner.at && partner.at <= last) {
                    matched = true;
                    meet(arrival, partner, shelf, out);
                    if (!isLeft && !terms.pairs()) {
                        // One partner decides all that there is to tell of a left row.
                        partners.remove();
                    }
                }
            }
        }
        if (matched) {
            out.matched();
            if (isLeft && terms.kind() == JoinTerms.Kind.SEMI) {
                out.joined(arrival.row, null);
            }
        }
        boolean isOver = arrival.at + terms.hold(isLeft) < watermark;
        if (isOver && !matched) {
            out.unmatched(isLeft, arrival.row, terms.tellsUnmatched(isLeft));
        }
        if (!isOver && !(matched && isLeft && !terms.pairs())) {
            // Of the right nothing is told where only rows of the left are.
            byte[] kept = isLeft || terms.pairs() ? arrival.row : NOTHING;
            shelves.find(isLeft, shelves.number(arrival.at))
                    .add(new Waiting(isLeft, arrival.at, kept, matched));
        }
    }

    private void meet(Arrival arrival, Waiting partner, Shelf shelf, JoinedRows out) {
        if (!partner.matched) {
            partner.matched = true;
            shelf.changed = true;
            out.matched();
            if (!arrival.isLeft && terms.kind() == JoinTerms.Kind.SEMI) {
                out.joined(partner.row, null);
            }
        }
        if (terms.pairs()) {
            byte[] left = arrival.isLeft ? arrival.row : partner.row;
            out.joined(left, arrival.isLeft ? partner.row : arrival.row);
        }
    }

    /** Sets a timer for the first watermark that is at or beyond a moment. */
    private void alarm(long moment) {
        long later = moment + Math.max(0, terms.behind());
        getHandle().registerTimer(-Math.floorDiv(-later, MICROS));
    }

    /** The last moment of the watermark at which nothing is to be done about a shelf. */
    private long quietUntil(Shelf shelf) {
        long next = shelves.end(shelf);
        if (terms.tellsUnmatched(shelf.isLeft)) {
            for (Waiting waiting : shelf.rows) {
                if (!waiting.matched) {
                    next = Math.min(next, waiting.at);
                }
            }
        }
        return next + terms.hold(shelf.isLeft);
    }

    /** Rows of no key find no partner: they are dead letters, late, or unmatched at once. */
    private void setApart(scala.collection.Iterator<Row> rows, long watermark, JoinedRows out) {
        while (rows.hasNext()) {
            Row row = rows.next();
            byte[] bytes = row.getAs(ROW);
            boolean isLeft = row.getBoolean(IS_LEFT);
            out.came(1);
            if (!row.isNullAt(CARRIED)) {
                out.dead(row.getAs(CARRIED));
            } else if (row.isNullAt(AT)) {
                out.late(isLeft, bytes, null, terms.keepsLate());
            } else if (row.getLong(AT) < watermark) {
                long by = Math.floorDiv(watermark - row.getLong(AT), MICROS);
                out.late(isLeft, bytes, by, terms.keepsLate());
            } else {
                out.unmatched(isLeft, bytes, terms.tellsUnmatched(isLeft));
            }
        }
    }

    /** Rows come in no order; this one is the same whenever a batch is run again. */
    private static List<Arrival> inOrder(scala.collection.Iterator<Row> rows) {
        List<Arrival> found = new ArrayList<>(2);
        while (rows.hasNext()) {
            Row row = rows.next();
            found.add(new Arrival(row.getBoolean(IS_LEFT), row.getLong(AT), row.getAs(ROW)));
        }
        found.sort(
                Comparator.comparingLong(Arrival::at)
                        .thenComparing(Arrival::isLeft)
                        .thenComparing(Arrival::row, Arrays::compare));
        return found;
    }

    /** The watermark that rows are judged by: behind another join, that of the batch before. */
    private long watermarkFor(Row row, TimerValues timers) {
        return terms.behind() < 0 ? now(timers) : micros(row.getLong(BEFORE)) - terms.behind();
    }

    private long now(TimerValues timers) {
        return micros(timers.getCurrentWatermarkInMs()) - Math.max(0, terms.behind());
    }

    private static long micros(long millis) {
        return millis > Long.MAX_VALUE / MICROS ? Long.MAX_VALUE : millis * MICROS;
    }
}
