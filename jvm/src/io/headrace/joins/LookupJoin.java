package io.headrace.joins;

import io.headrace.joins.LookupTerms.Missing;
import io.headrace.joins.LookupTerms.When;
import io.headrace.joins.Shelf.Waiting;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Answers events as they come, with the row that is known of their time, or with the last one.
 *
 * <p>In a batch the changes of a key come first, then its events, then those whose time has come.
 *
 * <p>State: for each key the versions of its row, until the watermark is beyond their end by the
 * retention, and the last one as long as the row is there; and the events that wait. Late events:
 * answered like any other within the retention; given on or counted beyond it. After a restart: goes
 * on from the last committed batch.
 */
final class LookupJoin extends StatefulProcessor<Row, Row, Row> {
    private static final long serialVersionUID = 1L;
    private static final long MICROS = 1_000;
    private static final long WIDTH = 1_000_000;

    /** Where the turn of a change is in a row that comes in; the rest is as in a join. */
    static final int TURN = 5;

    /** Where the key is, for those who are not grouped by it. */
    static final int KEY = 6;

    private final LookupTerms terms;
    private transient Shelves waiting;
    private transient ValueState<byte[]> state;

    LookupJoin(LookupTerms terms) {
        this.terms = terms;
    }

    private record Event(long at, byte[] row) {}

    private record Change(long turn, long at, byte[] row) {}

    @Override
    public void init(OutputMode outputMode, TimeMode timeMode) {
        waiting = new Shelves(getHandle(), terms.name(), WIDTH);
        state =
                getHandle()
                        .getValueState(
                                "versions-" + terms.name(), Encoders.BINARY(), TTLConfig.NONE());
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
        List<Change> changes = new ArrayList<>(1);
        List<Event> events = new ArrayList<>(1);
        sort(all, changes, events);
        Versions versions = Versions.read(state.get());
        waiting.open();
        apply(changes, versions, out);
        out.came(events.size());
        for (Event event : events) {
            if (isLate(event.at, watermark)) {
                long by = Math.floorDiv(watermark - event.at, MICROS);
                out.late(true, event.row, by, terms.keepsLate());
            } else {
                take(event, versions, watermark, out);
            }
        }
        waiting.storeAll(Shelf::isNew, this::quietUntil, this::alarm);
        store(versions, watermark);
        return CollectionConverters.asScala(out.all().iterator());
    }

    @Override
    public scala.collection.Iterator<Row> handleExpiredTimer(
            Row key, TimerValues timers, ExpiredTimerInfo info) {
        JoinedRows out = new JoinedRows();
        long watermark = now(timers);
        Versions versions = Versions.read(state.get());
        waiting.open();
        for (Waiting event : waiting.taken(e -> e.at + terms.hold() < watermark)) {
            if (terms.missing() != Missing.NULL_THEN_CORRECT) {
                answer(event.row, versions.at(event.at), terms, out);
            }
        }
        waiting.storeAll(
                shelf -> shelf.quietUntil < watermark, this::quietUntil, this::alarm);
        // Not before all that waited is answered, however far the watermark has moved.
        if (terms.when() != When.LATEST) {
            versions.forgetBefore(watermark - terms.retention());
        }
        store(versions, watermark);
        return CollectionConverters.asScala(out.all().iterator());
    }

    /** Takes the changes of a batch in their turn, and answers the events that waited for them. */
    private void apply(List<Change> changes, Versions versions, JoinedRows out) {
        if (changes.isEmpty()) {
            return;
        }
        changes.sort(Comparator.comparingLong(Change::turn));
        for (Change change : changes) {
            versions.add(change.at, change.row);
        }
        if (terms.when() == When.LATEST) {
            versions.keepLatest();
        }
        if (!terms.waitsForRows()) {
            return;
        }
        for (Waiting event : waiting.taken(e -> versions.at(e.at) != null)) {
            if (terms.missing() == Missing.WAIT) {
                out.matched();
            }
            out.joined(event.row, versions.at(event.at));
        }
    }

    private void take(Event event, Versions versions, long watermark, JoinedRows out) {
        if (terms.when() == When.LATEST) {
            answer(event.row, versions.latest(), terms, out);
            return;
        }
        boolean isOver = event.at + terms.hold() < watermark;
        byte[] found = versions.at(event.at);
        boolean mayCome = found == null && terms.waitsForRows() && !isOver;
        if (mayCome) {
            keep(event);
        }
        if (!mayCome || terms.missing() == Missing.NULL_THEN_CORRECT) {
            answer(event.row, found, terms, out);
        }
    }

    /** Tells an event with its row, or what is to be told where there is none. */
    static void answer(byte[] event, byte[] row, LookupTerms terms, JoinedRows out) {
        if (row != null) {
            out.matched();
            out.joined(event, row);
        } else if (terms.missing() == Missing.SIDE_OUTPUT) {
            out.missing(event);
        } else {
            out.unmatched(true, event, terms.tellsMissing());
        }
    }

    private void keep(Event event) {
        waiting.find(true, waiting.number(event.at)).add(new Waiting(true, event.at, event.row, false));
    }

    private boolean isLate(long at, long watermark) {
        return terms.when() != When.LATEST && at < watermark - terms.retention();
    }

    private void store(Versions versions, long watermark) {
        if (versions.isEmpty()) {
            if (versions.changed) {
                state.clear();
            }
            return;
        }
        long next = versions.nextEnd();
        // Of several timers the earliest serves for all: it sets the next.
        boolean isPassed = versions.alarm <= watermark;
        if (next != Long.MAX_VALUE && (isPassed || next + terms.retention() < versions.alarm)) {
            versions.alarm = next + terms.retention();
            versions.changed = true;
            alarm(versions.alarm);
        }
        if (versions.changed) {
            state.update(versions.bytes());
        }
    }

    private long quietUntil(Shelf shelf) {
        long next = Long.MAX_VALUE;
        for (Waiting event : shelf.rows) {
            next = Math.min(next, event.at + terms.hold());
        }
        return next;
    }

    /** Sets a timer for the first watermark that is at or beyond a moment. */
    private void alarm(long moment) {
        long later = moment + Math.max(0, terms.behind());
        getHandle().registerTimer(-Math.floorDiv(-later, MICROS));
    }

    /** Events of no key find no row: they are late, or missing at once. */
    private void setApart(scala.collection.Iterator<Row> rows, long watermark, JoinedRows out) {
        while (rows.hasNext()) {
            Row row = rows.next();
            byte[] event = row.getAs(IntervalJoin.ROW);
            out.came(1);
            if (!row.isNullAt(IntervalJoin.CARRIED)) {
                out.dead(row.getAs(IntervalJoin.CARRIED));
            } else if (row.isNullAt(IntervalJoin.AT)) {
                out.late(true, event, null, terms.keepsLate());
            } else if (isLate(row.getLong(IntervalJoin.AT), watermark)) {
                long by = Math.floorDiv(watermark - row.getLong(IntervalJoin.AT), MICROS);
                out.late(true, event, by, terms.keepsLate());
            } else {
                answer(event, null, terms, out);
            }
        }
    }

    /** Tells changes from events, which come in no order; theirs is the same in a repeated batch. */
    private static void sort(
            scala.collection.Iterator<Row> rows, List<Change> changes, List<Event> events) {
        while (rows.hasNext()) {
            Row row = rows.next();
            boolean isTimed = !row.isNullAt(IntervalJoin.AT);
            long at = isTimed ? row.getLong(IntervalJoin.AT) : Long.MIN_VALUE;
            byte[] bytes = row.getAs(IntervalJoin.ROW);
            if (row.getBoolean(IntervalJoin.IS_LEFT)) {
                events.add(new Event(at, bytes));
            } else {
                changes.add(new Change(row.getLong(TURN), at, bytes));
            }
        }
        events.sort(
                Comparator.comparingLong(Event::at).thenComparing(Event::row, Arrays::compare));
    }

    /** The watermark that events are judged by: behind another join, that of the batch before. */
    private long watermarkFor(Row row, TimerValues timers) {
        return terms.behind() < 0
                ? now(timers)
                : row.getLong(IntervalJoin.BEFORE) * MICROS - terms.behind();
    }

    private long now(TimerValues timers) {
        return timers.getCurrentWatermarkInMs() * MICROS - Math.max(0, terms.behind());
    }
}
