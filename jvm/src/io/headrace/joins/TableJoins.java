package io.headrace.joins;

import static org.apache.spark.sql.functions.array;
import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.explode;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.pmod;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.unix_micros;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.xxhash64;

import io.headrace.formats.Call;
import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Joins two tables, by the key of both or by one that the left row names. */
public final class TableJoins {
    private static final String OWN_KEY = "_own_key";
    private static final String SPREAD = "_spread";
    private static final int SPREADS = 256;

    private TableJoins() {}

    /**
     * Joins the net changes of two tables.
     *
     * <p>Spark reports a metric with each batch, {@code tables.NAME}, with {@code changed}, the
     * rows of the result that have changed, and {@code dead_letters}.
     *
     * @param left the changes of one table: {@code before}, {@code after}, {@code changed_at}, and
     *     what every row carries
     * @param right those of the other, whose key the left's columns name
     * @param json the step's terms; see {@link TableJoinTerms}
     * @return {@code _left_before}, {@code _right_before}, {@code _left_after}, {@code _right_after},
     *     {@code changed_at} and what every row carries
     */
    public static Dataset<Row> over(Dataset<Row> left, Dataset<Row> right, String json) {
        TableJoinTerms terms = TableJoinTerms.parse(json);
        // State stores report to a coordinator that only exists once the session's stream manager
        // does. A finished data set in a session without a stream would fail for want of it.
        left.sparkSession().streams();

        Parcel leftRow = row(left);
        Parcel rightRow = row(right);
        Parcel carried = new Parcel(left.select(Packed.carried()).schema());
        Parcel on = new Parcel(selected(leftRow.schema(), terms.leftOn()));
        Parcel own = new Parcel(selected(leftRow.schema(), terms.leftKey()));
        // A full join has rows of the same key, and null may be the key of a group.
        boolean isFull = terms.kind() == TableJoinTerms.Kind.FULL;
        Side ofLeft = new Side(true, leftRow, terms.leftOn(), own, terms.leftKey(), isFull);
        Side ofRight = new Side(false, rightRow, terms.rightOn(), on, terms.rightOn(), isFull);
        Dataset<Row> both =
                packed(left, ofLeft, on, carried).union(packed(right, ofRight, on, carried));
        Dataset<Row> joined = operated(both, "_on", new TableJoin(terms));
        Dataset<Row> whole =
                terms.isByKey() ? joined : operated(joined, OWN_KEY, new Reunion());
        return shaped(
                whole.observe(
                        "tables." + terms.name(),
                        Packed.number(TableJoin.CHANGE).as("changed"),
                        Packed.number(TableJoin.DEAD).as("dead_letters")),
                leftRow,
                rightRow,
                carried);
    }

    /**
     * How the changes of a side become bytes: its rows, what they are joined by, their key; and
     * whether null is a key like any other.
     */
    private record Side(
            boolean isLeft,
            Parcel row,
            List<String> on,
            Parcel own,
            List<String> ownKey,
            boolean takesNull) {}

    /**
     * Packs changes. One that leaves its partner for another becomes two: it is taken away from the
     * one, and comes to the other.
     */
    private static Dataset<Row> packed(
            Dataset<Row> changes, Side side, Parcel on, Parcel carried) {
        Column isDead = changes.col(Arrivals.DEAD).isNotNull();
        Column known = when(col("after").isNotNull(), col("after")).otherwise(col("before"));
        Dataset<Row> plain =
                changes.select(
                        lit(side.isLeft()).as("_is_left"),
                        when(not(isDead), bytes(side.own(), known, side.ownKey())).as(OWN_KEY),
                        rowBytes(side.row(), "before").as("_before"),
                        rowBytes(side.row(), "after").as("_after"),
                        unix_micros(col("changed_at")).as("_at"),
                        when(isDead, Packed.bytes(carried, Packed.carried())).as(Packed.CARRIED),
                        onOf(on, "before", side).as("_on_before"),
                        onOf(on, "after", side).as("_on_after"));
        Column none = lit(null).cast(DataTypes.BinaryType);
        Column left = part("_before", none, "_on_before");
        Column came = part(none, "_after", "_on_after");
        Column stayed =
                struct(
                        col("_before"),
                        col("_after"),
                        coalesce(col("_on_after"), col("_on_before")).as("_on"));
        Column moves =
                col("_before").isNotNull()
                        .and(col("_after").isNotNull())
                        .and(not(col("_on_before").eqNullSafe(col("_on_after"))));
        return plain.withColumn(
                        "_part",
                        explode(when(moves, array(left, came)).otherwise(array(stayed))))
                .select(
                        col("_is_left"),
                        col(OWN_KEY),
                        col("_part._before"),
                        col("_part._after"),
                        col("_at"),
                        col(Packed.CARRIED),
                        col("_part._on"));
    }

    private static Column part(String before, Column after, String on) {
        return struct(col(before).as("_before"), after.as("_after"), col(on).as("_on"));
    }

    private static Column part(Column before, String after, String on) {
        return struct(before.as("_before"), col(after).as("_after"), col(on).as("_on"));
    }

    private static Column rowBytes(Parcel row, String column) {
        Column bytes = Call.of(row, "pack", DataTypes.BinaryType, col(column));
        return when(col(column).isNotNull(), bytes);
    }

    /** What a row is joined by; null if there is no row, or if it names none. */
    private static Column onOf(Parcel on, String row, Side side) {
        Column isNamed = col(row).isNotNull();
        for (String name : side.takesNull() ? List.<String>of() : side.on()) {
            isNamed = isNamed.and(col(row).getField(name).isNotNull());
        }
        return when(isNamed, bytes(on, col(row), side.on()));
    }

    private static Column bytes(Parcel parcel, Column row, List<String> names) {
        Column[] fields =
                names.stream().map(name -> row.getField(name).as(name)).toArray(Column[]::new);
        return Call.of(parcel, "pack", DataTypes.BinaryType, struct(fields));
    }

    /** Rows of no key are spread over all partitions by a number. */
    private static Dataset<Row> operated(
            Dataset<Row> rows, String key, StatefulProcessor<Row, Row, Row> operator) {
        Column number = pmod(xxhash64(col(OWN_KEY), col(Packed.CARRIED)), lit(SPREADS)).cast(DataTypes.IntegerType);
        Dataset<Row> spread = rows.withColumn(SPREAD, when(col(key).isNull(), number));
        Column[] keyed = {col(key), col(SPREAD)};
        // Spark binds a row by position and wants all columns bound, the key's too.
        return spread.groupBy(keyed)
                .as(Encoders.row(spread.select(keyed).schema()), Encoders.row(spread.schema()))
                .transformWithState(
                        operator,
                        TimeMode.None(),
                        OutputMode.Append(),
                        Encoders.row(TableJoin.schema()));
    }

    private static Dataset<Row> shaped(
            Dataset<Row> given, Parcel left, Parcel right, Parcel carried) {
        return given.select(
                        taken(left, "_left_before"),
                        taken(right, "_right_before"),
                        taken(left, "_left_after"),
                        taken(right, "_right_after"),
                        expr("timestamp_micros(_at)").as("changed_at"),
                        taken(carried, Packed.CARRIED))
                .select(
                        col("_left_before"),
                        col("_right_before"),
                        col("_left_after"),
                        col("_right_after"),
                        col("changed_at"),
                        col(Packed.CARRIED + "._origin"),
                        col(Packed.CARRIED + "._dead"),
                        col(Packed.CARRIED + "._read"));
    }

    private static Column taken(Parcel parcel, String column) {
        return Call.of(parcel, "unpackIfAny", parcel.schema(), col(column)).as(column);
    }

    private static Parcel row(Dataset<Row> changes) {
        return new Parcel((StructType) changes.schema().apply("after").dataType());
    }

    private static StructType selected(StructType row, List<String> names) {
        StructType found = new StructType();
        for (String name : names) {
            found = found.add(row.apply(name));
        }
        return found;
    }
}
