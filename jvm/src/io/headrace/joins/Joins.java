package io.headrace.joins;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.pmod;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.sum;
import static org.apache.spark.sql.functions.unix_micros;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.xxhash64;

import io.headrace.formats.Call;
import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import io.headrace.windows.Before;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;

/** Joins two streams by key, within an interval of their times. */
public final class Joins {
    private static final String KEY = "_key";
    private static final String SPREAD = "_spread";
    private static final String ROW = "_row";
    private static final String CARRIED = "_carried";
    private static final int SPREADS = 256;
    private static final List<String> CARRIED_COLUMNS =
            List.of(Arrivals.ORIGIN, Arrivals.DEAD, "_read");

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

        Parcel carried = new Parcel(left.select(carried()).schema());
        Parcel key = new Parcel(left.select(columns(left, terms.left().key())).schema());
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
                groups(both)
                        .transformWithState(
                                new IntervalJoin(terms),
                                TimeMode.EventTime(),
                                OutputMode.Append(),
                                Encoders.row(JoinedRows.schema()));
        return shaped(observed(given, terms), ofLeft, ofRight);
    }

    /** How the rows of a side become bytes. */
    private record Packing(boolean isLeft, Parcel row, Parcel key, Parcel carried) {}

    private static Dataset<Row> packed(
            Dataset<Row> rows, JoinTerms.Side side, Packing packing, Column before) {
        Column time = unix_micros(rows.col(Parcel.quoted(side.time())));
        Column isDead = rows.col(Arrivals.DEAD).isNotNull();
        Column[] key = columns(rows, side.key());
        Column belongs = not(isDead).and(time.isNotNull());
        for (Column part : key) {
            belongs = belongs.and(part.isNotNull());
        }
        return rows.select(
                bytes(packing.row(), living(rows)).as(ROW),
                lit(packing.isLeft()).as("_is_left"),
                time.as("_at"),
                when(isDead, bytes(packing.carried(), carried())).as(CARRIED),
                before,
                when(belongs, bytes(packing.key(), key)).as(KEY));
    }

    private static Parcel row(Dataset<Row> rows) {
        return new Parcel(rows.select(living(rows)).schema());
    }

    private static Column[] living(Dataset<Row> rows) {
        List<String> names = new ArrayList<>(List.of(rows.columns()));
        names.removeAll(CARRIED_COLUMNS);
        return columns(rows, names);
    }

    private static Column[] columns(Dataset<Row> rows, List<String> names) {
        return names.stream().map(name -> rows.col(Parcel.quoted(name))).toArray(Column[]::new);
    }

    private static Column[] carried() {
        return CARRIED_COLUMNS.stream().map(name -> col(name)).toArray(Column[]::new);
    }

    private static Column bytes(Parcel parcel, Column... columns) {
        return Call.of(parcel, "pack", DataTypes.BinaryType, struct(columns));
    }

    /** Rows of no key are spread over all partitions by a number. */
    private static KeyValueGroupedDataset<Row, Row> groups(Dataset<Row> both) {
        Column number = pmod(xxhash64(col(ROW)), lit(SPREADS)).cast(DataTypes.IntegerType);
        Dataset<Row> spread = both.withColumn(SPREAD, when(col(KEY).isNull(), number));
        Column[] keyed = {col(KEY), col(SPREAD)};
        // Spark binds a row by position and wants all columns bound, the key's too.
        return spread.groupBy(keyed)
                .as(Encoders.row(spread.select(keyed).schema()), Encoders.row(spread.schema()));
    }

    private static Dataset<Row> observed(Dataset<Row> given, JoinTerms terms) {
        Column in = total("_in");
        Column dead = number(JoinedRows.DEAD);
        Column decided =
                total("_matched").plus(total("_unmatched")).plus(total("_late")).plus(dead);
        return given.observe(
                        "join." + terms.name(),
                        in.as("in"),
                        total("_matched").as("matched"),
                        total("_unmatched").as("unmatched"),
                        total("_late").as("late"),
                        dead.as("dead_letters"),
                        in.minus(decided).as("waiting"),
                        number(JoinedRows.JOINED).as("results"))
                .where(col("_kind").notEqual(JoinedRows.TALLY));
    }

    private static Dataset<Row> shaped(Dataset<Row> given, Packing left, Packing right) {
        return given.select(
                        col("_kind"),
                        taken(left.row(), "_left"),
                        taken(right.row(), "_right"),
                        col("_late_by").as("late_by_ms"),
                        taken(left.carried(), CARRIED))
                .select(
                        col("_kind"),
                        col("_left"),
                        col("_right"),
                        col("late_by_ms"),
                        col(CARRIED + "._origin"),
                        col(CARRIED + "._dead"),
                        col(CARRIED + "._read"));
    }

    private static Column taken(Parcel parcel, String column) {
        return Call.of(parcel, "unpackIfAny", parcel.schema(), col(column)).as(column);
    }

    private static Column total(String column) {
        return coalesce(sum(column), lit(0L));
    }

    private static Column number(int kind) {
        return count(when(col("_kind").equalTo(kind), lit(1)));
    }
}
