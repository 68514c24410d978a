package io.headrace.operators;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.when;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Keeps the first event of each id and drops those that repeat it within a time.
 *
 * <p>Two events of an id are the same if their event times lie at most that time apart; of a
 * batch's events the earliest is the first. Dead letters, and events without an id or a time, pass.
 *
 * <p>State: for each id, the times of the events that passed, until the watermark is beyond the
 * time by more than {@code within}, and up to twice as long again. Late events: judged like any
 * other, and remembered for {@code within} after the watermark at their arrival. After a restart:
 * goes on from the ids of the last committed batch.
 */
public final class Dedupe extends StatefulProcessor<Row, Row, Row> {
    private static final long serialVersionUID = 1L;

    private static final String FATE = "_fate";
    private static final int PASSED = 0;
    private static final int DUPLICATE = 1;
    private static final int DEAD = 2;

    private final Arrivals arrivals;
    private final DedupeTerms terms;
    private transient Remembered remembered;

    /** An event and its id; those of an id are side by side, and in their order. */
    private record Keyed(byte[] id, Arrivals.Arrival event) {
        static final Comparator<Keyed> ORDER =
                Comparator.comparing(Keyed::id, Arrays::compare)
                        .thenComparing(Keyed::event, Arrivals.ORDER);
    }

    private Dedupe(Arrivals arrivals, DedupeTerms terms) {
        this.arrivals = arrivals;
        this.terms = terms;
    }

    /**
     * Drops repeated events.
     *
     * <p>Spark reports two metrics with each batch: {@code dedupe.NAME.in} has {@code in}, the rows
     * that came; {@code dedupe.NAME.out} has {@code out}, {@code duplicates} and {@code
     * dead_letters}, which add up to it.
     *
     * @param rows the input, with a watermark; {@code _origin} orders events of one time, and
     *     {@code _dead} marks dead letters, where there are such columns
     * @param json see {@link DedupeTerms}
     * @return the input's columns
     */
    public static Dataset<Row> over(Dataset<Row> rows, String json) {
        DedupeTerms terms = DedupeTerms.read(json);
        String metric = "dedupe." + terms.name();
        Column id = rows.col(Parcel.quoted(terms.by()));
        Column judged = rows.col(Parcel.quoted(terms.time())).isNotNull();
        if (List.of(rows.columns()).contains(Arrivals.DEAD)) {
            judged = judged.and(rows.col(Arrivals.DEAD).isNull());
        }
        PackedRows came =
                PackedRows.by(rows, when(judged, id), terms.buckets())
                        .observed(metric + ".in", count(lit(1)).as("in"));
        PackedRows packed = terms.isBehind() ? came.withBefore() : came;
        StructType output =
                new StructType()
                        .add(PackedRows.ROW, DataTypes.BinaryType, false)
                        .add(FATE, DataTypes.IntegerType, false);
        Dataset<Row> all =
                packed.groups()
                        .transformWithState(
                                new Dedupe(new Arrivals(packed.parcel(), terms.time()), terms),
                                TimeMode.EventTime(),
                                OutputMode.Append(),
                                Encoders.row(output))
                        .observe(
                                metric + ".out",
                                of(PASSED).as("out"),
                                of(DUPLICATE).as("duplicates"),
                                of(DEAD).as("dead_letters"));
        return packed.unpacked(all.where(col(FATE).notEqual(DUPLICATE)));
    }

    @Override
    public void init(OutputMode outputMode, TimeMode timeMode) {
        remembered =
                new Remembered(
                        getHandle(), "passed-" + terms.name(), terms.within(), terms.buckets());
    }

    @Override
    public Iterator<Row> handleInputRows(Row group, Iterator<Row> rows, TimerValues timers) {
        List<Row> given = new ArrayList<>();
        List<Keyed> events = new ArrayList<>();
        long watermark = timers.getCurrentWatermarkInMs();
        while (rows.hasNext()) {
            Row row = rows.next();
            watermark = terms.isBehind() ? row.getLong(PackedRows.BEFORE) : watermark;
            byte[] bytes = row.getAs(PackedRows.BYTES);
            if (row.isNullAt(PackedRows.KEY)) {
                given.add(given(bytes, arrivals.isDead(bytes) ? DEAD : PASSED));
            } else {
                events.add(new Keyed(row.getAs(PackedRows.KEY), arrivals.arrival(bytes)));
            }
        }
        events.sort(Keyed.ORDER);
        remembered.open(group.getInt(PackedRows.BUCKET), watermark);
        events.forEach(each -> remembered.expect(each.id, each.event.at()));
        remembered.readExpected();
        byte[] id = null;
        for (Keyed each : events) {
            if (!Arrays.equals(id, each.id)) {
                remembered.store();
                id = each.id;
                remembered.turnTo(id);
            }
            boolean isRepeated = remembered.hides(each.event.at());
            if (!isRepeated) {
                remembered.add(each.event.at());
            }
            given.add(given(each.event.bytes(), isRepeated ? DUPLICATE : PASSED));
        }
        remembered.store();
        return CollectionConverters.asScala(given.iterator());
    }

    @Override
    public Iterator<Row> handleExpiredTimer(Row cell, TimerValues timers, ExpiredTimerInfo info) {
        remembered.clear();
        return CollectionConverters.asScala(Collections.emptyIterator());
    }

    private static Row given(byte[] row, int fate) {
        return RowFactory.create(row, fate);
    }

    private static Column of(int fate) {
        return count(when(col(FATE).equalTo(fate), lit(1)));
    }
}
