package io.headrace.sinks.lake;

import static org.apache.spark.sql.functions.col;

import io.headrace.formats.Call;
import io.headrace.operators.Parcel;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of an output, which come as one value of bytes.
 *
 * <p>All outputs of a pipeline leave it in one frame, whose value is binary. A packed row keeps
 * every type as it is, which JSON would not.
 */
final class PackedValues {
    /** The column of the unpacked row; null for a key that is taken away. */
    static final String ROW = "_row";

    private final StructType schema;
    private final Parcel parcel;

    /**
     * Reads rows that were packed by the output's schema.
     *
     * @param columns the schema, as Spark writes it in JSON
     */
    PackedValues(String columns) {
        this.schema = (StructType) nullable(DataType.fromJson(columns));
        this.parcel = new Parcel(schema);
    }

    /** The columns, all of which may be null. */
    StructType schema() {
        return schema;
    }

    /** Adds the row of each value as a struct. */
    Dataset<Row> unpacked(Dataset<Row> rows) {
        return rows.withColumn(ROW, Call.of(parcel, "unpackIfAny", schema, col("value")));
    }

    /** Gives the columns alone, of rows that all have a value. */
    Dataset<Row> columns(Dataset<Row> rows) {
        return unpacked(rows).select(fields().toArray(Column[]::new));
    }

    /** The columns inside of {@link #ROW}, under their own names. */
    List<Column> fields() {
        List<Column> fields = new ArrayList<>();
        for (String name : schema.fieldNames()) {
            fields.add(col(ROW).getField(name).as(name));
        }
        return fields;
    }

    /**
     * The same type, whose parts may all be null.
     *
     * <p>In a frame of several outputs any column can be; and a lake whose columns must not be null
     * could not be given further ones.
     */
    static DataType nullable(DataType type) {
        if (type instanceof StructType struct) {
            StructType made = new StructType();
            for (StructField field : struct.fields()) {
                made = made.add(field.name(), nullable(field.dataType()), true);
            }
            return made;
        }
        if (type instanceof ArrayType list) {
            return DataTypes.createArrayType(nullable(list.elementType()), true);
        }
        if (type instanceof MapType map) {
            return DataTypes.createMapType(
                    nullable(map.keyType()), nullable(map.valueType()), true);
        }
        return type;
    }
}
