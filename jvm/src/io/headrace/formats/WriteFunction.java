package io.headrace.formats;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * The function that Spark calls with each payload.
 *
 * <p>It travels to the executors as its schema and options; each copy makes its own writer there.
 * Public, as the code that Spark generates calls it.
 */
public final class WriteFunction implements Serializable {
    private static final long serialVersionUID = 1L;

    private final StructType schema;
    private final FormatOptions options;
    private transient Writer writer;

    WriteFunction(StructType schema, FormatOptions options) {
        this.schema = schema;
        this.options = options;
        // Refuses a type that the format lacks now, and not in the first batch.
        writer = options.writer(schema);
    }

    /** Writes one payload; none is a tombstone. */
    public byte[] write(InternalRow row) {
        if (row == null) {
            return null;
        }
        if (writer == null) {
            writer = options.writer(schema);
        }
        return writer.write(row);
    }

    @Override
    public String toString() {
        return options.toString();
    }
}
