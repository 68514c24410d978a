package io.headrace.joins;

import io.headrace.joins.Agenda.Entry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Answers events with the row that a table had for their key at their time, once the watermark has
 * passed that time; for many keys together.
 *
 * <p>In a batch the changes of a bucket come first, then its events, then those whose time has come.
 * The answers of a key leave in the order of its events' times.
 *
 * <p>State: for each key the versions of its row, until the watermark is beyond their end by the
 * retention, and the last one as long as the row is there; for each bucket the events that wait.
 * Late events: answered at once within the retention; given on or counted beyond it. After a
 * restart: goes on from the last committed batch.
 */
final class SettledJoin extends StatefulProcessor<Row, Row, Row> {
    private static final long serialVersionUID = 1L;
    private static final long MICROS = 1_000;

    private static final Comparator<Change> TURNS = Comparator.comparingLong(Change::turn);
    private static final Comparator<Event> ORDER =
            Comparator.comparing(Event::key, Arrays::compare)
                    .thenComparingLong(Event::at)
                    .thenComparing(Event::row, Arrays::compare);

    private final LookupTerms terms;
    private transient Agenda agenda;
    private transient MapState<byte[], byte[]> state;

    SettledJoin(LookupTerms terms) {
        this.terms = terms;
    }

    private record Event(byte[] key, long at, byte[] row) {}

    private record Change(byte[] key, long turn, long at, byte[] row) {}

    @Override
    public void init(OutputMode outputMode, TimeMode timeMode) {
        agenda = new Agenda(getHandle(), terms.name(), this::timer);
        state =
                getHandle()
                        .getMapState(
                                "versions-" + terms.name(),
                                Encoders.BINARY(),
                                Encoders.BINARY(),
                                TTLConfig.NONE());
    }

    @Override
    public scala.collection.Iterator<Row> handleInputRows(
            Row bucket, scala.collection.Iterator<Row> rows, TimerValues timers) {
        JoinedRows out = new JoinedRows();
        List<Change> changes = new ArrayList<>();
        List<Event> settled = new ArrayList<>();
        agenda.open();
        while (rows.hasNext()) {
            Row row = rows.next();
            if (row.isNullAt(LookupJoin.KEY)) {
                out.came(1);
                setApart(row, timers, out);
            } else if (row.getBoolean(IntervalJoin.IS_LEFT)) {
                out.came(1);
                take(row, timers, settled, out);
            } else {
                changes.add(change(row));
            }
        }
        apply(changes, now(timers));
        settled.sort(ORDER);
        answer(settled, out);
        agenda.close();
        return CollectionConverters.asScala(out.all().iterator());
    }

    @Override
    public scala.collection.Iterator<Row> handleExpiredTimer(
            Row bucket, TimerValues timers, ExpiredTimerInfo info) {
        JoinedRows out = new JoinedRows();
        long watermark = now(timers);
        agenda.open();
        List<Event> settled = new ArrayList<>();
        List<byte[]> ageing = new ArrayList<>();
        for (Entry entry : agenda.takeDue(watermark)) {
            if (entry.isEvent()) {
                settled.add(new Event(entry.key(), entry.moment() - 1, entry.event()));
            } else {
                ageing.add(entry.key());
            }
        }
        settled.sort(ORDER);
        answer(settled, out);
        // Not before all that waited is answered, however far the watermark has moved.
        for (byte[] key : ageing) {
            Versions versions = Versions.read(state.getValue(key));
            versions.forgetBefore(watermark - terms.retention());
            store(key, versions, watermark);
        }
        agenda.close();
        return CollectionConverters.asScala(out.all().iterator());
    }

    /** Sets an event apart that is late, or keeps it until its time is settled, if that is not yet. */
    private void take(Row row, TimerValues timers, List<Event> settled, JoinedRows out) {
        long watermark = watermarkFor(row, timers);
        long at = row.getLong(IntervalJoin.AT);
        byte[] bytes = row.getAs(IntervalJoin.ROW);
        byte[] key = row.getAs(LookupJoin.KEY);
        if (isLate(at, watermark)) {
            out.late(true, bytes, Math.floorDiv(watermark - at, MICROS), terms.keepsLate());
        } else if (at < watermark) {
            settled.add(new Event(key, at, bytes));
        } else {
            agenda.add(new Entry(at + 1, key, bytes));
        }
    }

    private static Change change(Row row) {
        boolean isTimed = !row.isNullAt(IntervalJoin.AT);
        long at = isTimed ? row.getLong(IntervalJoin.AT) : Long.MIN_VALUE;
        return new Change(
                row.getAs(LookupJoin.KEY),
                row.getLong(LookupJoin.TURN),
                at,
                row.getAs(IntervalJoin.ROW));
    }

    /** Takes the changes of a batch in their turn. */
    private void apply(List<Change> changes, long watermark) {
        changes.sort(Comparator.comparing(Change::key, Arrays::compare).thenComparing(TURNS));
        for (int i = 0; i < changes.size(); ) {
            byte[] key = changes.get(i).key;
            Versions versions = Versions.read(state.getValue(key));
            while (i < changes.size() && Arrays.equals(key, changes.get(i).key)) {
                Change change = changes.get(i++);
                versions.add(change.at, change.row);
            }
            store(key, versions, watermark);
        }
    }

    /** Tells events, those of a key side by side, with the rows of their times. */
    private void answer(List<Event> events, JoinedRows out) {
        byte[] key = null;
        Versions versions = null;
        for (Event event : events) {
            if (!Arrays.equals(key, event.key)) {
                key = event.key;
                versions = Versions.read(state.getValue(key));
            }
            LookupJoin.answer(event.row, versions.at(event.at), terms, out);
        }
    }

    private void store(byte[] key, Versions versions, long watermark) {
        if (versions.isEmpty()) {
            if (versions.changed) {
                state.removeKey(key);
            }
            return;
        }
        long next = versions.nextEnd();
        // Of several entries the earliest serves for all: it makes the next.
        boolean isPassed = versions.alarm <= watermark;
        if (next != Long.MAX_VALUE && (isPassed || next + terms.retention() < versions.alarm)) {
            versions.alarm = next + terms.retention();
            versions.changed = true;
            agenda.add(new Entry(versions.alarm, key, null));
        }
        if (versions.changed) {
            state.updateValue(key, versions.bytes());
        }
    }

    /** Dead letters, and events of no key or time, which are late or find no row. */
    private void setApart(Row row, TimerValues timers, JoinedRows out) {
        byte[] event = row.getAs(IntervalJoin.ROW);
        if (!row.isNullAt(IntervalJoin.CARRIED)) {
            out.dead(row.getAs(IntervalJoin.CARRIED));
        } else if (row.isNullAt(IntervalJoin.AT)) {
            out.late(true, event, null, terms.keepsLate());
        } else {
            long watermark = watermarkFor(row, timers);
            long at = row.getLong(IntervalJoin.AT);
            if (isLate(at, watermark)) {
                out.late(true, event, Math.floorDiv(watermark - at, MICROS), terms.keepsLate());
            } else {
                LookupJoin.answer(event, null, terms, out);
            }
        }
    }

    private boolean isLate(long at, long watermark) {
        return at < watermark - terms.retention();
    }

    /** The time of the timer for the first watermark that is at or beyond a moment. */
    private long timer(long moment) {
        long later = moment + Math.max(0, terms.behind());
        return -Math.floorDiv(-later, MICROS);
    }

    /** The watermark that an event is judged by: behind another join, that of the batch before. */
    private long watermarkFor(Row event, TimerValues timers) {
        return terms.behind() < 0
                ? now(timers)
                : event.getLong(IntervalJoin.BEFORE) * MICROS - terms.behind();
    }

    private long now(TimerValues timers) {
        return timers.getCurrentWatermarkInMs() * MICROS - Math.max(0, terms.behind());
    }
}
