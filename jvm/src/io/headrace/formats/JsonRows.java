package io.headrace.formats;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;

/** Reads rows that another system gives as JSON, as strictly as events are read. */
public final class JsonRows {
    private final Reader reader;

    public JsonRows(StructType schema) {
        reader = new JsonReader(schema, 0);
    }

    /**
     * Reads one row.
     *
     * @throws IllegalArgumentException that says which field does not fit, and why
     */
    public InternalRow read(byte[] json) {
        try {
            return new GenericInternalRow(reader.read(json));
        } catch (Unreadable unreadable) {
            throw new IllegalArgumentException(
                    unreadable.reason().slug() + ", " + unreadable.detail());
        }
    }
}
