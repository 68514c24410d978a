package io.headrace.operators;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.pmod;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.xxhash64;

import io.headrace.formats.Call;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructType;

/**
 * Whole rows grouped by a key, for operators that pass rows on as they came.
 *
 * <p>The values are {@link Parcel}s. A key is a row of two fields: the key's own value, and, where
 * that is null, a number that spreads such rows over all partitions instead of heaping them on one.
 */
final class PackedRows {
    /** The column of an operator's output that holds a packed row. */
    static final String ROW = "_row";

    private static final String KEY = "_key";
    private static final String SPREAD = "_spread";
    private static final int SPREADS = 256;

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
     * @param key what to group by; null for a row that belongs to no group
     */
    static PackedRows by(Dataset<Row> rows, Column key) {
        // State stores report to a coordinator that only exists once the session's stream manager
        // does. A finished data set in a session without a stream would fail for want of it.
        rows.sparkSession().streams();

        Parcel parcel = new Parcel(rows.schema());
        Column spread = when(col(KEY).isNull(), pmod(xxhash64(col(ROW)), lit(SPREADS)));
        Dataset<Row> packed =
                rows.select(parcel.packed(rows).as(ROW), key.as(KEY))
                        .withColumn(SPREAD, spread);
        return new PackedRows(parcel, packed);
    }

    /** Counts the rows on their way in, as one of the metrics that Spark reports for a batch. */
    PackedRows observed(String name, Column metric) {
        return new PackedRows(parcel, packed.observe(name, metric));
    }

    /** Reads what was packed. */
    Parcel parcel() {
        return parcel;
    }

    /** The groups, to call {@code transformWithState} on; a value's first field is the parcel. */
    KeyValueGroupedDataset<Row, Row> groups() {
        StructType keySchema = packed.select(KEY, SPREAD).schema();
        // Spark binds a row by position and wants all columns bound, the key's too.
        return packed.groupBy(col(KEY), col(SPREAD))
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
