package io.headrace.formats;

import static org.apache.spark.sql.functions.col;

import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Turns payloads into bytes that {@link Decode} reads as the same fields. */
public final class Encode {
    private static final String PAYLOAD = "payload";

    private Encode() {}

    /**
     * Writes the payload of each row.
     *
     * @param rows any columns, and {@code payload}, a struct
     * @param options {@code format}; {@code schema_id} for the formats with a wire header; {@code
     *     schema}, the payload's fields as Spark's JSON, where the column's own type does not say
     *     all: what is required, symbols, numbers; {@code what}, the column to write
     * @return the same columns, with the bytes in place of the payload
     */
    public static Dataset<Row> over(Dataset<Row> rows, Map<String, String> options) {
        FormatOptions wanted = new FormatOptions(options);
        StructType given = (StructType) rows.schema().apply(PAYLOAD).dataType();
        Column bytes = bytes(col(PAYLOAD), wanted.schema(given), wanted);
        return rows.withColumn(wanted.what(), bytes).drop(PAYLOAD);
    }

    /**
     * Gives the bytes of a struct as a column, to be used inside others.
     *
     * @param payload a struct
     * @param options as above; {@code schema} has to be among them
     */
    public static Column column(Column payload, Map<String, String> options) {
        FormatOptions wanted = new FormatOptions(options);
        return bytes(payload, wanted.schema(null), wanted);
    }

    private static Column bytes(Column payload, StructType schema, FormatOptions wanted) {
        WriteFunction function = new WriteFunction(schema, wanted);
        return Call.of(function, "write", DataTypes.BinaryType, payload);
    }
}
