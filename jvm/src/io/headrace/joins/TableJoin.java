package io.headrace.joins;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Joins two tables: keeps the rows of both under what they are joined by, and gives what each batch
 * has changed of the result.
 *
 * <p>State: the rows of both tables. Late events: applied like any other. After a restart: goes on
 * with the rows of the last committed batch.
 */
final class TableJoin extends StatefulProcessor<Row, Row, Row> {
    static final int CHANGE = 0;
    static final int DEAD = 1;

    /** Where columns are in a row that comes in. */
    private static final int IS_LEFT = 0;

    private static final int OWN_KEY = 1;
    private static final int BEFORE = 2;
    private static final int AFTER = 3;
    private static final int AT = 4;
    private static final int CARRIED = 5;

    private static final long serialVersionUID = 1L;

    private final TableJoinTerms terms;
    private transient ValueState<byte[]> right;
    private transient MapState<byte[], byte[]> lefts;

    TableJoin(TableJoinTerms terms) {
        this.terms = terms;
    }

    static StructType schema() {
        return new StructType()
                .add("_kind", DataTypes.IntegerType, false)
                .add("_own_key", DataTypes.BinaryType)
                .add("_left_before", DataTypes.BinaryType)
                .add("_right_before", DataTypes.BinaryType)
                .add("_left_after", DataTypes.BinaryType)
                .add("_right_after", DataTypes.BinaryType)
                .add("_at", DataTypes.LongType)
                .add("_carried", DataTypes.BinaryType);
    }

    /** A left row before a batch and after it, and when it was changed. */
    private record Moved(byte[] before, byte[] after, Long at) {}

    @Override
    public void init(OutputMode outputMode, TimeMode timeMode) {
        right =
                getHandle()
                        .getValueState("right-" + terms.name(), Encoders.BINARY(), TTLConfig.NONE());
        lefts =
                getHandle()
                        .getMapState(
                                "left-" + terms.name(),
                                Encoders.BINARY(),
                                Encoders.BINARY(),
                                TTLConfig.NONE());
    }

    @Override
    public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues timers) {
        List<Row> given = new ArrayList<>(1);
        if (key.isNullAt(0)) {
            while (rows.hasNext()) {
                given.add(partnerless(rows.next()));
            }
            given.removeAll(Collections.singleton(null));
            return CollectionConverters.asScala(given.iterator());
        }
        Map<byte[], Moved> moved = new TreeMap<>(Arrays::compare);
        byte[] rightBefore = right.get();
        byte[] rightAfter = rightBefore;
        Long rightAt = null;
        while (rows.hasNext()) {
            Row row = rows.next();
            Long at = row.isNullAt(AT) ? null : row.getLong(AT);
            if (row.getBoolean(IS_LEFT)) {
                moved.put(row.getAs(OWN_KEY), new Moved(row.getAs(BEFORE), row.getAs(AFTER), at));
            } else {
                rightAfter = row.getAs(AFTER);
                rightAt = at;
            }
        }
        if (!Arrays.equals(rightBefore, rightAfter)) {
            addUnmoved(moved, rightAt);
        }
        for (Map.Entry<byte[], Moved> one : moved.entrySet()) {
            Moved left = one.getValue();
            addIfChanged(given, one.getKey(), new Moved(rightBefore, rightAfter, rightAt), left);
            keep(one.getKey(), left);
        }
        store(rightBefore, rightAfter);
        return CollectionConverters.asScala(given.iterator());
    }

    /** Adds the left rows that have not changed, but whose partner has. */
    private void addUnmoved(Map<byte[], Moved> moved, Long at) {
        Iterator<Tuple2<byte[], byte[]>> kept = lefts.iterator();
        while (kept.hasNext()) {
            Tuple2<byte[], byte[]> one = kept.next();
            moved.putIfAbsent(one._1(), new Moved(one._2(), one._2(), at));
        }
        if (moved.isEmpty() && terms.kind() == TableJoinTerms.Kind.FULL) {
            moved.put(new byte[0], new Moved(null, null, at));
        }
    }

    private void addIfChanged(List<Row> given, byte[] ownKey, Moved partner, Moved left) {
        boolean wasThere = terms.hasRow(left.before, partner.before);
        boolean isThere = terms.hasRow(left.after, partner.after);
        boolean isSame =
                Arrays.equals(left.before, left.after)
                        && Arrays.equals(partner.before, partner.after);
        if (!wasThere && !isThere || isSame) {
            return;
        }
        Long at = left.at == null || partner.at != null && partner.at > left.at ? partner.at : left.at;
        given.add(
                RowFactory.create(
                        CHANGE,
                        ownKey,
                        wasThere ? left.before : null,
                        wasThere ? partner.before : null,
                        isThere ? left.after : null,
                        isThere ? partner.after : null,
                        at,
                        null));
    }

    private void keep(byte[] ownKey, Moved left) {
        if (Arrays.equals(left.before, left.after)) {
            return;
        }
        if (left.after == null) {
            lefts.removeKey(ownKey);
        } else {
            lefts.updateValue(ownKey, left.after);
        }
    }

    private void store(byte[] before, byte[] after) {
        if (after == null && before != null) {
            right.clear();
        } else if (!Arrays.equals(before, after)) {
            right.update(after);
        }
    }

    /** Gives a dead letter, or a row that has no partner, as what it is joined by is null. */
    private Row partnerless(Row row) {
        if (!row.isNullAt(CARRIED)) {
            return RowFactory.create(DEAD, null, null, null, null, null, null, row.getAs(CARRIED));
        }
        byte[] before = row.getAs(BEFORE);
        byte[] after = row.getAs(AFTER);
        // A row of the right that no left row can name is nowhere in the result.
        if (terms.kind() == TableJoinTerms.Kind.INNER || !row.getBoolean(IS_LEFT)) {
            return null;
        }
        Long at = row.isNullAt(AT) ? null : row.getLong(AT);
        return RowFactory.create(CHANGE, row.getAs(OWN_KEY), before, null, after, null, at, null);
    }
}
