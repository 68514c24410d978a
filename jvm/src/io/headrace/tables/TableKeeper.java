package io.headrace.tables;

import io.headrace.delivery.Refusal;
import io.headrace.operators.Parcel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Keeps the last row of each key, and gives what each batch has changed of it.
 *
 * <p>State: for each key its row and the place of its last change; of a deleted key the place alone,
 * until the watermark is beyond the deletion by {@code remembered}. Late events: applied like any
 * other, as their place and not their time decides. After a restart: goes on with the rows of the
 * last committed batch.
 */
final class TableKeeper extends StatefulProcessor<Row, Row, Row> {
    /** The kinds of rows that are given: a change, a dead letter, or nothing but counts. */
    static final int CHANGE = 0;

    static final int DEAD = 1;
    static final int TALLY = 2;

    private static final long serialVersionUID = 1L;
    private static final long MICROS = 1_000;

    private final TableTerms terms;
    private final Parcel changes;
    private final Parcel rows;
    private final Parcel keys;
    private final int shape;
    private transient ValueState<byte[]> state;

    /**
     * Makes the operator.
     *
     * @param changes reads a packed change
     * @param rows reads a row of the table
     * @param keys reads a key
     */
    TableKeeper(TableTerms terms, Parcel changes, Parcel rows, Parcel keys) {
        this.terms = terms;
        this.changes = changes;
        this.rows = rows;
        this.keys = keys;
        this.shape = rows.schema().catalogString().hashCode();
    }

    @Override
    public void init(OutputMode outputMode, TimeMode timeMode) {
        state = getHandle().getValueState("row-" + terms.name(), Encoders.BINARY(), TTLConfig.NONE());
    }

    @Override
    public Iterator<Row> handleInputRows(Row key, Iterator<Row> given, TimerValues timers) {
        if (key.isNullAt(0)) {
            return given.map(row -> RowFactory.create(DEAD, null, null, null, null, row.getAs(1), 1L, 0L));
        }
        requireKey(key.getAs(0));
        List<Change> arrived = new ArrayList<>(1);
        while (given.hasNext()) {
            Row row = given.next();
            arrived.add(Change.of(changes, rows.schema().length(), row.getAs(0), row.getAs(1)));
        }
        Kept before = requireShape(Kept.of(state.get()));
        Kept kept = before;
        Change last = null;
        long seen = 0;
        List<Row> every = new ArrayList<>(0);
        for (Change change : Merged.inOrder(arrived)) {
            if (kept != null && (terms.isCaptured() ? kept.hasSeen(change) : kept.isBeyond(change))) {
                seen++;
                continue;
            }
            Kept known = kept;
            kept = Kept.after(change, filled(change, kept), shape, kept);
            last = change;
            if (terms.everyChange()) {
                addIfChanged(every, known, kept, change);
            }
        }
        if (last != null) {
            state.update(kept.toBytes());
            if (kept.isDeleted()) {
                rememberUntil(kept, timers.getCurrentWatermarkInMs());
            }
        }
        if (terms.everyChange()) {
            every.add(tally(arrived.size(), seen));
            return CollectionConverters.asScala(every.iterator());
        }
        return Iterator.single(told(before, kept, last, arrived.size(), seen));
    }

    @Override
    public Iterator<Row> handleExpiredTimer(Row key, TimerValues timers, ExpiredTimerInfo info) {
        Kept kept = Kept.of(state.get());
        // The key may be there again.
        if (kept != null && kept.isDeleted()) {
            state.clear();
        }
        return CollectionConverters.asScala(Collections.emptyIterator());
    }

    /** Adds one of several changes, if it has changed anything; its turn stands for its position. */
    private void addIfChanged(List<Row> every, Kept before, Kept after, Change change) {
        byte[] old = before == null ? null : before.row();
        if (Arrays.equals(old, after.row())) {
            return;
        }
        // A row that a snapshot was the first to tell of was there before, nobody knows since when.
        boolean isSinceEver = change.isSnapshot() && old == null;
        boolean isTimed = !isSinceEver && after.at() != Origin.NO_TIME;
        every.add(
                RowFactory.create(
                        CHANGE,
                        old,
                        after.row(),
                        (long) every.size(),
                        isTimed ? Long.valueOf(after.at()) : null,
                        change.carried(),
                        0L,
                        0L));
    }

    private static Row tally(long in, long seen) {
        return RowFactory.create(TALLY, null, null, null, null, null, in, seen);
    }

    /** Gives the net change, or only the counts where nothing has changed in the end. */
    private Row told(Kept before, Kept after, Change last, long in, long seen) {
        byte[] old = before == null ? null : before.row();
        byte[] now = after == null ? null : after.row();
        if (last == null || Arrays.equals(old, now)) {
            return tally(in, seen);
        }
        Long position = last.place() == null ? null : Long.valueOf(last.place().position());
        if (!terms.isCaptured()) {
            position = last.offset();
        }
        Long at = last.at() == Origin.NO_TIME ? null : Long.valueOf(last.at());
        return RowFactory.create(CHANGE, old, now, position, at, last.carried(), in, seen);
    }

    /** Gives the row of a change, with the columns that the database has not sent as they were. */
    private byte[] filled(Change change, Kept kept) {
        if (change.row() == null || change.unsent().isEmpty()) {
            return change.row();
        }
        if (kept == null || kept.row() == null) {
            throw unavailable(change);
        }
        StructType schema = rows.schema();
        UnsafeRow sent = rows.unpack(change.row());
        UnsafeRow known = rows.unpack(kept.row());
        Object[] values = new Object[schema.length()];
        for (int i = 0; i < values.length; i++) {
            boolean isUnsent = change.unsent().contains(schema.fieldNames()[i]);
            UnsafeRow from = isUnsent ? known : sent;
            values[i] = from.isNullAt(i) ? null : from.get(i, schema.fields()[i].dataType());
        }
        return rows.pack(new GenericInternalRow(values));
    }

    private void rememberUntil(Kept kept, long watermark) {
        // Of several deletions of a key the last one counts.
        List<Long> earlier = new ArrayList<>(0);
        getHandle().listTimers().foreach(timer -> earlier.add((Long) timer));
        earlier.forEach(timer -> getHandle().deleteTimer(timer));
        long until = until(Math.max(kept.at(), watermark * MICROS));
        if (kept.at() != Origin.NO_TIME && until != Long.MAX_VALUE) {
            getHandle().registerTimer(until);
        }
    }

    /** The watermark at which a deletion of some time is forgotten, in milliseconds. */
    private long until(long at) {
        if (terms.remembered() >= TableTerms.FOR_EVER || at > Long.MAX_VALUE - terms.remembered()) {
            return Long.MAX_VALUE;
        }
        return Math.floorDiv(at + terms.remembered(), MICROS) + 1;
    }

    private void requireKey(byte[] key) {
        if (keys.unpack(key).anyNull()) {
            throw Refusal.of(
                    "table-key-missing",
                    "a change of table \"" + terms.name() + "\" does not say which row it is of",
                    "of the key " + String.join(", ", terms.key()) + " a value is null.",
                    "the key of a captured table is its primary key, or the index that its "
                            + "REPLICA IDENTITY names: declare that one.");
        }
    }

    private Kept requireShape(Kept kept) {
        if (kept != null && !kept.hasShape(shape)) {
            throw Refusal.of(
                    "table-class-changed",
                    "the class of table \"" + terms.name() + "\" has other columns than the rows "
                            + "that are kept",
                    "they were kept by an earlier version of the pipeline.",
                    "put the class back as it was, or let the table begin anew with "
                            + "`headrace tables rebuild`.");
        }
        return kept;
    }

    private Refusal unavailable(Change change) {
        return Refusal.of(
                "value-not-sent",
                "table \"" + terms.name() + "\" lacks a value that its database did not send",
                "partition " + change.partition() + ", offset " + change.offset() + ": an update "
                        + "left " + String.join(", ", change.unsent()) + " as it was, and no row "
                        + "of this key is known.",
                "have whole rows sent, with `ALTER TABLE ... REPLICA IDENTITY FULL`, have the "
                        + "table captured anew, then let it begin anew with "
                        + "`headrace tables rebuild`.");
    }
}
