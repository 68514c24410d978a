package io.headrace.sinks.lake;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.from_json;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.max_by;
import static org.apache.spark.sql.functions.struct;

import io.delta.tables.DeltaTable;
import io.headrace.operators.Parcel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Puts rows in the place of those of their keys, and takes away keys without a row. */
final class DeltaMerge {
    private static final String KEY = "_key_";
    private static final String GONE = "_gone";

    private final PackedValues values;
    private final List<String> keys;

    DeltaMerge(PackedValues values, List<String> keys) {
        this.values = values;
        this.keys = keys;
    }

    /** Merges the last row of each key, in one commit. */
    void into(DeltaTable table, Dataset<Row> rows) {
        Map<String, Column> columns = new HashMap<>();
        for (String name : values.schema().fieldNames()) {
            columns.put(Parcel.quoted(name), col("new." + Parcel.quoted(name)));
        }
        Column isSame = lit(true);
        for (int number = 0; number < keys.size(); number++) {
            Column old = col("old." + Parcel.quoted(keys.get(number)));
            isSame = isSame.and(old.equalTo(col("new." + KEY + number)));
        }
        table.as("old")
                .merge(lastOfEach(rows).as("new"), isSame)
                .whenMatched(col("new." + GONE))
                .delete()
                .whenMatched()
                .update(columns)
                .whenNotMatched(col("new." + GONE).equalTo(false))
                .insert(columns)
                .execute();
    }

    private Dataset<Row> lastOfEach(Dataset<Row> rows) {
        Dataset<Row> last =
                rows.groupBy("key")
                        .agg(max_by(struct(col("value")), col("place")).as("last"))
                        .select(col("key"), col("last.value").as("value"));
        List<Column> columns = new ArrayList<>(values.fields());
        for (int number = 0; number < keys.size(); number++) {
            String key = keys.get(number);
            Column given = coalesce(col(PackedValues.ROW).getField(key), keyOfBytes(key));
            columns.add(given.as(KEY + number));
        }
        columns.add(col(PackedValues.ROW).isNull().as(GONE));
        return values.unpacked(last).select(columns.toArray(Column[]::new));
    }

    /** A key that is taken away comes as its bytes alone: those of its text, or of its JSON. */
    private Column keyOfBytes(String key) {
        if (keys.size() > 1) {
            StructType several = new StructType();
            for (String part : keys) {
                several = several.add(values.schema().apply(part));
            }
            return from_json(col("key").cast("string"), several).getField(key);
        }
        DataType kind = values.schema().apply(key).dataType();
        return kind instanceof BinaryType ? col("key") : col("key").cast("string").cast(kind);
    }
}
