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
final class LookupJoin extends Lookup {
    private static final long serialVersionUID = 1L;
    private static final long WIDTH = 1_000_000;

    private transient Shelves waiting;
    private transient ValueState<byte[]> state;

    LookupJoin(LookupTerms terms) {
        super(terms);
    }

    private record Event(long at, byte[] row) {}

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
        if (key.isNullAt(0)) {
            rows.foreach(
                    row -> {
                        takeKeyless(row, timers, out);
                        return null;
                    });
            return CollectionConverters.asScala(out.all().iterator());
        }
        List<Change> changes = new ArrayList<>(1);
        List<Event> events = new ArrayList<>(1);
        long watermark = sort(rows, timers, changes, events);
        Versions versions = Versions.read(state.get());
        waiting.open();
        apply(changes, versions, out);
        out.came(events.size());
        for (Event event : events) {
            if (!isSetApart(event.row, event.at, watermark, out)) {
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
                answer(event.row, versions.at(event.at), out);
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
            versions.add(change.at(), change.row());
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
            answer(event.row, versions.latest(), out);
            return;
        }
        boolean isOver = event.at + terms.hold() < watermark;
        byte[] found = versions.at(event.at);
        boolean mayCome = found == null && terms.waitsForRows() && !isOver;
        if (mayCome) {
            keep(event);
        }
        if (!mayCome || terms.missing() == Missing.NULL_THEN_CORRECT) {
            answer(event.row, found, out);
        }
    }

    private void keep(Event event) {
        waiting.find(true, waiting.number(event.at)).add(new Waiting(true, event.at, event.row, false));
    }

    private void store(Versions versions, long watermark) {
        if (versions.isEmpty()) {
            if (versions.changed) {
                state.clear();
            }
            return;
        }
        if (isToBeSeen(versions, watermark)) {
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

    private void alarm(long moment) {
        getHandle().registerTimer(timer(moment));
    }

    /**
     * Tells changes from events, which come in no order; theirs is the same in a repeated batch.
     *
     * @return the watermark that the events are judged by
     */
    private long sort(
            scala.collection.Iterator<Row> rows,
            TimerValues timers,
            List<Change> changes,
            List<Event> events) {
        long watermark = now(timers);
        while (rows.hasNext()) {
            Row row = rows.next();
            if (row.getBoolean(IntervalJoin.IS_LEFT)) {
                watermark = watermarkFor(row, timers);
                events.add(
                        new Event(row.getLong(IntervalJoin.AT), row.getAs(IntervalJoin.ROW)));
            } else {
                changes.add(Change.of(row));
            }
        }
        events.sort(
                Comparator.comparingLong(Event::at).thenComparing(Event::row, Arrays::compare));
        return watermark;
    }
}
