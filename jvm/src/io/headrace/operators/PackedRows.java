package io.headrace.operators;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.pmod;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.xxhash64;

import io.headrace.batches.Before;
import io.headrace.formats.Call;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Whole rows in buckets of many keys, for operators that pass rows on as they came.
 *
 * <p>The values are {@link Parcel}s. Rows whose key is null are spread over the buckets.
 */
final class PackedRows {
    /** The column of an operator's output that holds a packed row. */
    static final String ROW = "_row";

    /** Where columns are: the bucket in the key of a group, the others in its rows. */
    static final int BUCKET = 0;

    static final int BYTES = 0;
    static final int KEY = 1;
    static final int BEFORE = 4;

    private static final String KEYED = "_key";
    private static final String BUCKETED = "_bucket";

    /** Where an operator divides what it keeps of a bucket; null in rows. */
    private static final String CELL = "_cell";

    private final Parcel parcel;
    private final Dataset<Row> packed;

    private PackedRows(Parcel parcel, Dataset<Row> packed) {
        this.parcel = parcel;
        this.packed = packed;
    }

    /**
     * Packs rows.
     *
     * @param rows the input
     * @param key by which they are dealt to buckets; null for a row that has none
     * @param buckets how many there are; state is found by it
     */
    static PackedRows by(Dataset<Row> rows, Column key, int buckets) {
        // State stores report to a coordinator that only exists once the session's stream manager
        // does. A finished data set in a session without a stream would fail for want of it.
        rows.sparkSession().streams();

        Parcel parcel = new Parcel(rows.schema());
        Parcel id = new Parcel(rows.select(key.as(KEYED)).schema());
        Column packed = Call.of(id, "pack", DataTypes.BinaryType, struct(key.as(KEYED)));
        Column bucket = pmod(xxhash64(coalesce(col(KEYED), col(ROW))), lit(buckets));
        Dataset<Row> dealt =
                rows.select(parcel.packed(rows).as(ROW), when(key.isNotNull(), packed).as(KEYED))
                        .withColumn(BUCKETED, bucket.cast(DataTypes.IntegerType))
                        .withColumn(CELL, lit(null).cast(DataTypes.LongType));
        return new PackedRows(parcel, dealt);
    }

    /** Counts the rows on their way in, as one of the metrics that Spark reports for a batch. */
    PackedRows observed(String name, Column metric) {
        return new PackedRows(parcel, packed.observe(name, metric));
    }

    /** Tells each row the watermark of the batch before. */
    PackedRows withBefore() {
        return new PackedRows(
                parcel, packed.withColumn(Before.COLUMN, Before.column(packed.sparkSession())));
    }

    /** Reads what was packed. */
    Parcel parcel() {
        return parcel;
    }

    /** The buckets, to call {@code transformWithState} on. */
    KeyValueGroupedDataset<Row, Row> groups() {
        StructType keySchema = packed.select(BUCKETED, CELL).schema();
        // Spark binds a row by position and wants all columns bound, the key's too.
        return packed.groupBy(col(BUCKETED), col(CELL))
                .as(Encoders.row(keySchema), Encoders.row(packed.schema()));
    }

    /** Gives the columns of the rows that an operator has let pass. */
    Dataset<Row> unpacked(Dataset<Row> output) {
        StructType schema = parcel.schema();
        Column row = Call.of(parcel, "unpack", schema, col(ROW));
        List<Column> all = new ArrayList<>();
        for (String name : schema.fieldNames()) {
            all.add(col(ROW).getField(name).as(name));
        }
        return output.select(row.as(ROW)).select(all.toArray(Column[]::new));
    }
}
