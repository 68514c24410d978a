package io.headrace.formats;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The function that Spark calls with each value: an event's fields, or why there are none.
 *
 * <p>It travels to the executors as its schema and options; each copy makes its own reader there.
 * Public, as the code that Spark generates calls it.
 */
public final class ReadFunction implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final int DEFAULT_MAX_BYTES = 10 * 1024 * 1024;

    private final StructType schema;
    private final FormatOptions options;
    private final Ahead ahead;
    private transient Reader reader;

    ReadFunction(StructType schema, FormatOptions options) {
        this.schema = schema;
        this.options = options;
        this.ahead = options.ahead(schema);
        // Refuses a type that the format lacks now, and not in the first batch.
        reader = options.reader(schema);
    }

    /** The event's fields, all of which can be null, then the reason and its detail. */
    StructType resultType() {
        return schema.asNullable()
                .add(Decode.REASON, DataTypes.StringType)
                .add(Decode.DETAIL, DataTypes.StringType);
    }

    /**
     * Reads one value; never throws for what the value holds.
     *
     * @param bytes the value, or null
     * @param recordedAt the record's own time in microseconds; below zero if it has none
     */
    public InternalRow read(byte[] bytes, long recordedAt) {
        int fields = schema.length();
        Object[] row = new Object[fields + 2];
        try {
            if (bytes != null) {
                Object[] found = checked(bytes);
                if (ahead != null) {
                    ahead.require(found, recordedAt);
                }
                System.arraycopy(found, 0, row, 0, fields);
            } else if (!options.keepsTombstones()) {
                throw new Unreadable(Reason.VALUE_MISSING, "there is no " + options.what());
            }
        } catch (Unreadable e) {
            row[fields] = UTF8String.fromString(e.reason().slug());
            row[fields + 1] = UTF8String.fromString(e.detail());
        }
        return new GenericInternalRow(row);
    }

    private Object[] checked(byte[] bytes) throws Unreadable {
        int largest = options.maxBytes(DEFAULT_MAX_BYTES);
        if (bytes.length > largest) {
            throw new Unreadable(
                    Reason.VALUE_TOO_LARGE,
                    "at most " + largest + " bytes are read, " + bytes.length + " came");
        }
        if (reader == null) {
            reader = options.reader(schema);
        }
        return reader.read(bytes);
    }

    @Override
    public String toString() {
        return options.toString();
    }
}
