package io.headrace.operators;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Rows grouped by one column, the way every operator of this package receives them.
 *
 * <p>The key is a row of one field, so it keeps whatever type its column has. The values are rows
 * of the columns the operator asked for and no others: what nobody reads is not shuffled, and not
 * turned into objects for every event.
 */
final class KeyedRows {
    /**
     * The key's name inside the state store, whatever its column is called. Spark describes stored
     * keys in Avro, which refuses names such as {@code a.b}; and a column can be renamed without
     * losing its state.
     */
    private static final String STORED_KEY = "_key";

    private final StructField keyField;
    private final KeyValueGroupedDataset<Row, Row> groups;

    private KeyedRows(StructField keyField, KeyValueGroupedDataset<Row, Row> groups) {
        this.keyField = keyField;
        this.groups = groups;
    }

    /**
     * Groups rows by a column.
     *
     * @param rows the input, a stream or a finished data set
     * @param key the name of a column of the input
     * @param values the names of the columns the operator reads; none if it only counts
     */
    static KeyedRows by(Dataset<Row> rows, String key, String... values) {
        // State stores report to a coordinator that only exists once the session's stream manager
        // does. A finished data set in a session without a stream would fail for want of it.
        rows.sparkSession().streams();

        StructType keySchema = rows.select(literally(rows, key).as(STORED_KEY)).schema();
        List<Column> read = new ArrayList<>();
        for (String name : values) {
            read.add(literally(rows, name));
        }
        StructType valueSchema = rows.select(read.toArray(Column[]::new)).schema();

        // A row encoder binds by position, so the values come first and the key last.
        read.add(literally(rows, key).as(STORED_KEY));
        Dataset<Row> needed = rows.select(read.toArray(Column[]::new));

        // groupBy().as() groups on the column itself; groupByKey() would turn every row into an
        // object and back only to compute a key that is already there.
        KeyValueGroupedDataset<Row, Row> groups =
                needed.groupBy(needed.col(STORED_KEY))
                        .as(Encoders.row(keySchema), Encoders.row(valueSchema));
        return new KeyedRows(rows.schema().apply(key), groups);
    }

    /** The key column as the input declares it: its name, type and whether it can be null. */
    StructField keyField() {
        return keyField;
    }

    /** The groups, to call {@code transformWithState} on. */
    KeyValueGroupedDataset<Row, Row> groups() {
        return groups;
    }

    private static Column literally(Dataset<Row> rows, String name) {
        return rows.col(Parcel.quoted(name));
    }
}
