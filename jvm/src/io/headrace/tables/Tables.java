package io.headrace.tables;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.pmod;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.sum;
import static org.apache.spark.sql.functions.unix_micros;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.xxhash64;

import io.headrace.formats.Call;
import io.headrace.operators.Parcel;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Keeps a table from the changes of its rows. */
public final class Tables {
    private static final String CHANGE = "_change";
    private static final String CARRIED = "_carried";
    private static final String KEY = "_key";
    private static final String SPREAD = "_spread";
    private static final int SPREADS = 256;

    private static final StructType GIVEN =
            new StructType()
                    .add("_kind", DataTypes.IntegerType, false)
                    .add("before", DataTypes.BinaryType)
                    .add("after", DataTypes.BinaryType)
                    .add("position", DataTypes.LongType)
                    .add("_at", DataTypes.LongType)
                    .add(CARRIED, DataTypes.BinaryType)
                    .add("_in", DataTypes.LongType, false)
                    .add("_seen", DataTypes.LongType, false);

    private Tables() {}

    /**
     * Gives the net change of each key and batch.
     *
     * <p>Spark reports a metric with each batch, {@code table.NAME}: {@code in}, which {@code
     * applied}, {@code outdated} and {@code dead_letters} add up to; and the net changes, {@code
     * inserted}, {@code updated} and {@code deleted}.
     *
     * @param changes the columns that {@code DecodeChanges} gives and {@code _read}, with a
     *     watermark
     * @param json the table's terms; see {@link TableTerms}
     * @return {@code before} and {@code after}, each null where there is no row; {@code position},
     *     {@code changed_at}, {@code _origin}, {@code _dead} and {@code _read}
     */
    public static Dataset<Row> over(Dataset<Row> changes, String json) {
        TableTerms terms = TableTerms.parse(json);
        // State stores report to a coordinator that only exists once the session's stream manager
        // does. A finished data set in a session without a stream would fail for want of it.
        changes.sparkSession().streams();

        Column[] packedChange = change();
        Column[] carriedColumns = {col("_origin"), col("_dead"), col("_read")};
        Parcel change = new Parcel(changes.select(packedChange).schema());
        Parcel carried = new Parcel(changes.select(carriedColumns).schema());
        Parcel row = new Parcel((StructType) changes.schema().apply("after").dataType());
        Parcel key = new Parcel(changes.select(key(terms)).schema());
        Dataset<Row> packed =
                changes.select(
                                packed(change, packedChange).as(CHANGE),
                                packed(carried, carriedColumns).as(CARRIED),
                                when(col("_dead").isNull(), packed(key, key(terms))).as(KEY))
                        .withColumn(SPREAD, spread());
        Dataset<Row> given =
                groups(packed)
                        .transformWithState(
                                new TableKeeper(terms, change, row, key),
                                TimeMode.EventTime(),
                                OutputMode.Append(),
                                Encoders.row(GIVEN));
        return shaped(observed(given, terms), row, carried);
    }

    private static Column[] change() {
        return new Column[] {
            col("after"),
            col("unchanged"),
            coalesce(col("is_snapshot"), lit(false)).as("is_snapshot"),
            col("position"),
            col("_major"),
            col("_minor"),
            unix_micros(col("changed_at")).as("at"),
            struct(
                            coalesce(col("_origin.partition"), lit(0)).as("partition"),
                            coalesce(col("_origin.offset"), lit(0L)).as("offset"))
                    .as("origin"),
        };
    }

    private static Column[] key(TableTerms terms) {
        Column row = when(col("after").isNotNull(), col("after")).otherwise(col("before"));
        return terms.key().stream().map(name -> row.getField(name).as(name)).toArray(Column[]::new);
    }

    private static Column packed(Parcel parcel, Column... columns) {
        return Call.of(parcel, "pack", DataTypes.BinaryType, struct(columns));
    }

    /** Dead letters belong to no key; a number spreads them over all partitions. */
    private static Column spread() {
        Column number = pmod(xxhash64(col(CARRIED)), lit(SPREADS)).cast(DataTypes.IntegerType);
        return when(col(KEY).isNull(), number);
    }

    private static KeyValueGroupedDataset<Row, Row> groups(Dataset<Row> packed) {
        Column[] keyed = {col(KEY), col(SPREAD)};
        // Spark binds a row by position and wants all columns bound, the key's too.
        return packed.groupBy(keyed)
                .as(Encoders.row(packed.select(keyed).schema()), Encoders.row(packed.schema()));
    }

    private static Dataset<Row> observed(Dataset<Row> given, TableTerms terms) {
        Column isDead = col("_kind").equalTo(TableKeeper.DEAD);
        Column isChange = col("_kind").equalTo(TableKeeper.CHANGE);
        Column in = coalesce(sum("_in"), lit(0L));
        Column seen = coalesce(sum("_seen"), lit(0L));
        Column dead = number(isDead);
        return given.observe(
                        "table." + terms.name(),
                        in.as("in"),
                        in.minus(seen).minus(dead).as("applied"),
                        seen.as("outdated"),
                        dead.as("dead_letters"),
                        number(isChange.and(col("before").isNull())).as("inserted"),
                        number(isChange.and(col("before").isNotNull()).and(col("after").isNotNull()))
                                .as("updated"),
                        number(isChange.and(col("after").isNull())).as("deleted"))
                .where(col("_kind").notEqual(TableKeeper.TALLY));
    }

    private static Dataset<Row> shaped(Dataset<Row> given, Parcel row, Parcel carried) {
        return given.select(
                        taken(row, "before"),
                        taken(row, "after"),
                        col("position"),
                        expr("timestamp_micros(_at)").as("changed_at"),
                        taken(carried, CARRIED))
                .select(
                        col("before"),
                        col("after"),
                        col("position"),
                        col("changed_at"),
                        col(CARRIED + "._origin"),
                        col(CARRIED + "._dead"),
                        col(CARRIED + "._read"));
    }

    private static Column taken(Parcel parcel, String column) {
        return Call.of(parcel, "unpackIfAny", parcel.schema(), col(column)).as(column);
    }

    private static Column number(Column condition) {
        return count(when(condition, lit(1)));
    }
}
