package io.headrace.joins;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.unix_micros;
import static org.apache.spark.sql.functions.when;

import io.headrace.batches.Before;
import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;

/** Joins two streams by key, within an interval of their times. */
public final class Joins {
    private Joins() {}

    /**
     * Joins two streams.
     *
     * <p>Spark reports a metric with each batch, {@code join.NAME}: {@code in}, which {@code
     * matched}, {@code unmatched}, {@code late}, {@code dead_letters} and {@code waiting} add up to,
     * the last being by how many more rows wait than before; and {@code results}. A row that is not
     * told when it has had no partner may be counted as unmatched half an interval later.
     *
     * @param left the rows of one side, with a watermark, and with what every row carries
     * @param right those of the other side; their key has the same types
     * @param json the step's terms; see {@link JoinTerms}
     * @return {@code _kind} (0 a result, 1 and 4 a late row of the left and the right, 2 a dead
     *     letter), {@code _left}, {@code _right}, {@code late_by_ms}, and what every row carries
     */
    public static Dataset<Row> over(Dataset<Row> left, Dataset<Row> right, String json) {
        JoinTerms terms = JoinTerms.parse(json);
        // State stores report to a coordinator that only exists once the session's stream manager
        // does. A finished data set in a session without a stream would fail for want of it.
        left.sparkSession().streams();

        Parcel carried = new Parcel(left.select(Packed.carried()).schema());
        Parcel key = new Parcel(left.select(Packed.columns(left, terms.left().key())).schema());
        Packing ofLeft = new Packing(true, row(left), key, carried);
        Packing ofRight = new Packing(false, row(right), key, carried);
        Column before =
                terms.behind() < 0
                        ? lit(0L).as(Before.COLUMN)
                        : Before.column(left.sparkSession());
        Dataset<Row> both =
                packed(left, terms.left(), ofLeft, before)
                        .union(packed(right, terms.right(), ofRight, before));
        Dataset<Row> given =
                Packed.groups(both)
                        .transformWithState(
                                new IntervalJoin(terms),
                                TimeMode.EventTime(),
                                OutputMode.Append(),
                                Encoders.row(JoinedRows.schema()));
        return Packed.shaped(observed(given, terms), ofLeft.row(), ofRight.row(), carried);
    }

    /** How the rows of a side become bytes. */
    private record Packing(boolean isLeft, Parcel row, Parcel key, Parcel carried) {}

    private static Dataset<Row> packed(
            Dataset<Row> rows, JoinTerms.Side side, Packing packing, Column before) {
        Column time = unix_micros(rows.col(Parcel.quoted(side.time())));
        Column isDead = rows.col(Arrivals.DEAD).isNotNull();
        Column[] key = Packed.columns(rows, side.key());
        Column belongs = not(isDead).and(time.isNotNull());
        for (Column part : key) {
            belongs = belongs.and(part.isNotNull());
        }
        return rows.select(
                Packed.bytes(packing.row(), Packed.living(rows)).as(Packed.ROW),
                lit(packing.isLeft()).as("_is_left"),
                time.as("_at"),
                when(isDead, Packed.bytes(packing.carried(), Packed.carried())).as(Packed.CARRIED),
                before,
                when(belongs, Packed.bytes(packing.key(), key)).as(Packed.KEY));
    }

    private static Parcel row(Dataset<Row> rows) {
        return new Parcel(rows.select(Packed.living(rows)).schema());
    }

    private static Dataset<Row> observed(Dataset<Row> given, JoinTerms terms) {
        Column in = Packed.total("_in");
        Column dead = Packed.number(JoinedRows.DEAD);
        Column decided =
                Packed.total("_matched").plus(Packed.total("_unmatched")).plus(Packed.total("_late")).plus(dead);
        return given.observe(
                        "join." + terms.name(),
                        in.as("in"),
                        Packed.total("_matched").as("matched"),
                        Packed.total("_unmatched").as("unmatched"),
                        Packed.total("_late").as("late"),
                        dead.as("dead_letters"),
                        in.minus(decided).as("waiting"),
                        Packed.number(JoinedRows.JOINED).as("results"))
                .where(col("_kind").notEqual(JoinedRows.TALLY));
    }
}
