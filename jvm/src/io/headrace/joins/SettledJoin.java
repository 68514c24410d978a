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
final class SettledJoin extends Lookup {
    private static final long serialVersionUID = 1L;

    private static final Comparator<Change> TURNS =
            Comparator.comparing(Change::key, Arrays::compare).thenComparingLong(Change::turn);
    private static final Comparator<Event> ORDER =
            Comparator.comparing(Event::key, Arrays::compare)
                    .thenComparingLong(Event::at)
                    .thenComparing(Event::row, Arrays::compare);

    private transient Agenda agenda;
    private transient MapState<byte[], byte[]> state;

    SettledJoin(LookupTerms terms) {
        super(terms);
    }

    private record Event(byte[] key, long at, byte[] row) {}

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
            if (row.isNullAt(KEY)) {
                takeKeyless(row, timers, out);
            } else if (row.getBoolean(IntervalJoin.IS_LEFT)) {
                out.came(1);
                take(row, timers, settled, out);
            } else {
                changes.add(Change.of(row));
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

    /** Keeps an event until its time is settled, unless it is late, or that is so already. */
    private void take(Row row, TimerValues timers, List<Event> settled, JoinedRows out) {
        long watermark = watermarkFor(row, timers);
        Event event =
                new Event(
                        row.getAs(KEY),
                        row.getLong(IntervalJoin.AT),
                        row.getAs(IntervalJoin.ROW));
        if (isSetApart(event.row, event.at, watermark, out)) {
            return;
        }
        if (event.at < watermark) {
            settled.add(event);
        } else {
            agenda.add(new Entry(event.at + 1, event.key, event.row));
        }
    }

    /** Takes the changes of a batch in their turn. */
    private void apply(List<Change> changes, long watermark) {
        changes.sort(TURNS);
        for (int i = 0; i < changes.size(); ) {
            byte[] key = changes.get(i).key();
            Versions versions = Versions.read(state.getValue(key));
            while (i < changes.size() && Arrays.equals(key, changes.get(i).key())) {
                Change change = changes.get(i++);
                versions.add(change.at(), change.row());
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
            answer(event.row, versions.at(event.at), out);
        }
    }

    private void store(byte[] key, Versions versions, long watermark) {
        if (versions.isEmpty()) {
            if (versions.changed) {
                state.removeKey(key);
            }
            return;
        }
        if (isToBeSeen(versions, watermark)) {
            agenda.add(new Entry(versions.alarm, key, null));
        }
        if (versions.changed) {
            state.updateValue(key, versions.bytes());
        }
    }
}
