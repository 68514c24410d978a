package io.headrace.groups;

import static org.apache.spark.sql.functions.array;
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
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Puts the rows of a table together by some of their columns. */
public final class Groups {
    private static final String KEY = "_key";
    private static final String VALUES = "_values";
    private static final String CARRIED = "_carried";
    private static final String SPREAD = "_spread";
    private static final int SPREADS = 256;

    private Groups() {}

    /**
     * Gives the net change of each group and batch.
     *
     * @param changes {@code _key_before} and {@code _key_after}, the keys of the groups that a row
     *     leaves and comes to, null where there is none; {@code _values_before} and {@code
     *     _values_after}, what is put together of it: whole numbers of 64 bits, decimals and
     *     doubles where they are summed up; {@code changed_at}, and what every row carries
     * @param json the step's terms; see {@link GroupTerms}
     * @return {@code _key}, {@code _before} and {@code _after}, the totals {@code _0}, {@code _1}
     *     and so on, null where there is no group; {@code changed_at} and what every row carries
     */
    public static Dataset<Row> over(Dataset<Row> changes, String json) {
        GroupTerms terms = GroupTerms.parse(json);
        // State stores report to a coordinator that only exists once the session's stream manager
        // does. A finished data set in a session without a stream would fail for want of it.
        changes.sparkSession().streams();

        Parcel key = new Parcel(type(changes, "_key_after"));
        Parcel values = new Parcel(type(changes, "_values_after"));
        Parcel carried = new Parcel(changes.select(carried()).schema());
        GroupShape shape = GroupShape.of(terms, values.schema());
        Dataset<Row> parts = parts(packed(changes, key, values, carried));
        Column number = pmod(xxhash64(col(CARRIED)), lit(SPREADS)).cast(DataTypes.IntegerType);
        Dataset<Row> spread = parts.withColumn(SPREAD, when(col(KEY).isNull(), number));
        Column[] keyed = {col(KEY), col(SPREAD)};
        // Spark binds a row by position and wants all columns bound, the key's too.
        Dataset<Row> given =
                spread.groupBy(keyed)
                        .as(
                                Encoders.row(spread.select(keyed).schema()),
                                Encoders.row(spread.schema()))
                        .transformWithState(
                                new GroupKeeper(shape),
                                TimeMode.None(),
                                OutputMode.Append(),
                                Encoders.row(GroupKeeper.schema()));
        return shaped(given, key, shape.parcel(), carried);
    }

    private static Dataset<Row> packed(
            Dataset<Row> changes, Parcel key, Parcel values, Parcel carried) {
        Column isDead = col(Arrivals.DEAD).isNotNull();
        Column whole = Call.of(carried, "pack", DataTypes.BinaryType, struct(carried()));
        return changes.select(
                bytes(key, "_key_before"),
                bytes(key, "_key_after"),
                bytes(values, "_values_before"),
                bytes(values, "_values_after"),
                unix_micros(col("changed_at")).as("_at"),
                when(isDead, whole).as(CARRIED));
    }

    /** Makes two of a change: what leaves a group, and what comes to one; or nothing of both. */
    private static Dataset<Row> parts(Dataset<Row> packed) {
        Column isSame =
                col("_key_before").eqNullSafe(col("_key_after"))
                        .and(col("_values_before").eqNullSafe(col("_values_after")));
        Column isDead = col(CARRIED).isNotNull();
        return packed.where(isDead.or(not(isSame)))
                .withColumn(
                        "_part",
                        explode(
                                when(isDead, array(part("before", true)))
                                        .otherwise(array(part("before", true), part("after", false)))))
                .where(isDead.or(col("_part." + KEY).isNotNull()))
                .select(
                        col("_part." + VALUES),
                        col("_part._is_taken_back"),
                        col("_at"),
                        col(CARRIED),
                        col("_part." + KEY));
    }

    private static Column part(String when, boolean isTakenBack) {
        return struct(
                col("_values_" + when).as(VALUES),
                lit(isTakenBack).as("_is_taken_back"),
                col("_key_" + when).as(KEY));
    }

    private static Column bytes(Parcel parcel, String column) {
        Column packed = Call.of(parcel, "pack", DataTypes.BinaryType, col(column));
        return when(col(column).isNotNull(), packed).as(column);
    }

    private static Dataset<Row> shaped(
            Dataset<Row> given, Parcel key, Parcel told, Parcel carried) {
        return given.select(
                        taken(key, KEY),
                        taken(told, "_before"),
                        taken(told, "_after"),
                        expr("timestamp_micros(_at)").as("changed_at"),
                        taken(carried, CARRIED))
                .select(
                        col(KEY),
                        col("_before"),
                        col("_after"),
                        col("changed_at"),
                        col(CARRIED + "._origin"),
                        col(CARRIED + "._dead"),
                        col(CARRIED + "._read"));
    }

    private static Column taken(Parcel parcel, String column) {
        return Call.of(parcel, "unpackIfAny", parcel.schema(), col(column)).as(column);
    }

    private static Column[] carried() {
        return new Column[] {col(Arrivals.ORIGIN), col(Arrivals.DEAD), col("_read")};
    }

    private static StructType type(Dataset<Row> changes, String column) {
        return (StructType) changes.schema().apply(column).dataType();
    }
}
