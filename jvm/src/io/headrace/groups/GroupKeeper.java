package io.headrace.groups;

import io.headrace.delivery.Refusal;
import io.headrace.groups.GroupTerms.Wanted;
import io.headrace.operators.Parcel;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Keeps the totals of each group, and gives what each batch has changed of them.
 *
 * <p>State: for each group its totals and, where a function has to know them, its different values;
 * nothing once it has no rows. Late events: applied like any other. After a restart: goes on with
 * the totals of the last committed batch.
 */
final class GroupKeeper extends StatefulProcessor<Row, Row, Row> {
    static final int CHANGE = 0;
    static final int DEAD = 1;

    /** Where columns are in a row that comes in; the key is the last but one. */
    private static final int VALUES = 0;

    private static final int IS_TAKEN_BACK = 1;
    private static final int AT = 2;
    private static final int CARRIED = 3;

    private static final long serialVersionUID = 1L;

    private final GroupShape shape;
    private final Parcel values;
    private final Parcel told;
    private transient ValueState<byte[]> state;
    private transient MapState<Long, byte[]> pages;

    GroupKeeper(GroupShape shape) {
        this.shape = shape;
        this.values = new Parcel(shape.values());
        this.told = shape.parcel();
    }

    static StructType schema() {
        return new StructType()
                .add("_kind", DataTypes.IntegerType, false)
                .add("_key", DataTypes.BinaryType)
                .add("_before", DataTypes.BinaryType)
                .add("_after", DataTypes.BinaryType)
                .add("_at", DataTypes.LongType)
                .add("_carried", DataTypes.BinaryType);
    }

    @Override
    public void init(OutputMode outputMode, TimeMode timeMode) {
        String name = shape.terms().name();
        state = getHandle().getValueState("group-" + name, Encoders.BINARY(), TTLConfig.NONE());
        pages =
                getHandle()
                        .getMapState(
                                "pages-" + name,
                                Encoders.LONG(),
                                Encoders.BINARY(),
                                TTLConfig.NONE());
    }

    @Override
    public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues timers) {
        if (key.isNullAt(0)) {
            return rows.map(
                    row -> RowFactory.create(DEAD, null, null, null, null, row.getAs(CARRIED)));
        }
        byte[] kept = state.get();
        ByteBuffer in = kept == null ? null : ByteBuffer.wrap(kept);
        StoredPages stored = new StoredPages(pages, in == null ? 0 : in.getLong());
        Group group =
                in == null ? Group.empty(shape, stored) : require(Group.read(shape, in, stored));
        byte[] before = told(group);
        Long at = null;
        while (rows.hasNext()) {
            Row row = rows.next();
            group.add(values.unpack(row.getAs(VALUES)), row.getBoolean(IS_TAKEN_BACK));
            Long changed = row.isNullAt(AT) ? null : row.getLong(AT);
            at = at == null || changed != null && changed > at ? changed : at;
        }
        if (!group.settle()) {
            throw outOfStep();
        }
        byte[] after = told(group);
        store(group, stored, kept != null);
        List<Row> given =
                Arrays.equals(before, after)
                        ? Collections.emptyList()
                        : List.of(RowFactory.create(CHANGE, key.getAs(0), before, after, at, null));
        return CollectionConverters.asScala(given.iterator());
    }

    private void store(Group group, StoredPages stored, boolean isKept) {
        if (!group.isEmpty()) {
            ByteBuffer out = ByteBuffer.allocate(Long.BYTES + group.size()).putLong(stored.last());
            group.write(out);
            state.update(Arrays.copyOf(out.array(), out.position()));
        } else if (isKept) {
            state.clear();
        }
    }

    /** Gives the totals, packed; null for a group without rows. */
    private byte[] told(Group group) {
        if (group.isEmpty()) {
            return null;
        }
        List<Wanted> wanted = shape.terms().totals();
        Object[] found = new Object[wanted.size()];
        for (int i = 0; i < found.length; i++) {
            found[i] = group.told(wanted.get(i));
            if (found[i] == null && group.has(wanted.get(i))) {
                throw tooLarge(wanted.get(i));
            }
        }
        return told.pack(new GenericInternalRow(found));
    }

    private Group require(Group group) {
        if (group == null) {
            throw Refusal.of(
                    "group-changed",
                    "group \"" + shape.terms().name() + "\" puts other things together than "
                            + "those that are kept",
                    "they were kept by an earlier version of the pipeline.",
                    "put the declaration back as it was, or let it begin anew with "
                            + "`headrace tables rebuild`.");
        }
        return group;
    }

    private Refusal outOfStep() {
        return Refusal.of(
                "group-out-of-step",
                "group \"" + shape.terms().name() + "\" is to take back a row that it does not "
                        + "have",
                "its state and that of the table before it belong to different declarations: "
                        + "the step is new or has a new name, or one before it was changed.",
                "put the declaration back as it was, or let it begin anew with "
                        + "`headrace tables rebuild`.");
    }

    private Refusal tooLarge(Wanted wanted) {
        String type = shape.type(wanted).sql();
        return Refusal.of(
                "sum-too-large",
                "a total of group \"" + shape.terms().name() + "\" does not fit its type",
                "it is a " + type + ", as Spark has it for such values.",
                "sum up numbers of a larger type: sum(cast(x as decimal(28, 0))); or smaller "
                        + "groups.");
    }
}
