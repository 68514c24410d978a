package io.headrace.joins;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.pmod;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.sum;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.xxhash64;

import io.headrace.formats.Call;
import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataTypes;

/** How the rows of a join's sides become bytes on their way in, and columns on their way out. */
final class Packed {
    static final String KEY = "_key";
    static final String ROW = "_row";
    static final String CARRIED = "_carried";

    private static final String SPREAD = "_spread";
    private static final String BUCKET = "_bucket";
    private static final int SPREADS = 256;
    private static final List<String> CARRIED_COLUMNS =
            List.of(Arrivals.ORIGIN, Arrivals.DEAD, "_read");

    private Packed() {}

    static Column[] living(Dataset<Row> rows) {
        List<String> names = new ArrayList<>(List.of(rows.columns()));
        names.removeAll(CARRIED_COLUMNS);
        return columns(rows, names);
    }

    static Column[] columns(Dataset<Row> rows, List<String> names) {
        return names.stream().map(name -> rows.col(Parcel.quoted(name))).toArray(Column[]::new);
    }

    static Column[] carried() {
        return CARRIED_COLUMNS.stream().map(name -> col(name)).toArray(Column[]::new);
    }

    static Column bytes(Parcel parcel, Column... columns) {
        return Call.of(parcel, "pack", DataTypes.BinaryType, struct(columns));
    }

    /** Rows of no key are spread over all partitions by a number. */
    static KeyValueGroupedDataset<Row, Row> groups(Dataset<Row> both) {
        Column number = pmod(xxhash64(col(ROW)), lit(SPREADS)).cast(DataTypes.IntegerType);
        Dataset<Row> spread = both.withColumn(SPREAD, when(col(KEY).isNull(), number));
        Column[] keyed = {col(KEY), col(SPREAD)};
        // Spark binds a row by position and wants all columns bound, the key's too.
        return spread.groupBy(keyed)
                .as(Encoders.row(spread.select(keyed).schema()), Encoders.row(spread.schema()));
    }

    /** The rows of many keys together, those of no key among them. */
    static KeyValueGroupedDataset<Row, Row> buckets(Dataset<Row> both, int buckets) {
        Column bucket =
                pmod(xxhash64(coalesce(col(KEY), col(ROW))), lit(buckets))
                        .cast(DataTypes.IntegerType);
        Dataset<Row> dealt = both.withColumn(BUCKET, bucket);
        return dealt.groupBy(col(BUCKET))
                .as(
                        Encoders.row(dealt.select(col(BUCKET)).schema()),
                        Encoders.row(dealt.schema()));
    }

    /** Gives the rows of both sides as structs, each null where there is none. */
    static Dataset<Row> shaped(Dataset<Row> given, Parcel left, Parcel right, Parcel carried) {
        return given.select(
                        col("_kind"),
                        taken(left, "_left"),
                        taken(right, "_right"),
                        col("_late_by").as("late_by_ms"),
                        taken(carried, CARRIED))
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

    static Column total(String column) {
        return coalesce(sum(column), lit(0L));
    }

    static Column number(int kind) {
        return count(when(col("_kind").equalTo(kind), lit(1)));
    }
}
