package io.headrace.formats;

import static org.apache.spark.sql.functions.col;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.TimestampFormatter;
import org.apache.spark.sql.catalyst.util.TimestampFormatter$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The headers of a dead letter: its own, why it could not be read, and where it came from.
 *
 * <p>One call, as what Spark generates for such a list is longer than many a pipeline, and stands
 * in the way of rows that are no dead letters.
 */
public final class LetterHeaders implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final DataType TYPE =
            DataTypes.createArrayType(
                    new StructType()
                            .add("key", DataTypes.StringType)
                            .add("value", DataTypes.BinaryType));

    private final String zone;
    private transient TimestampFormatter formatter;

    private LetterHeaders(String zone) {
        this.zone = zone;
    }

    /** Gives the column, of rows with {@code _dead}, where that is not null, and {@code _origin}. */
    public static Column of(SparkSession spark) {
        LetterHeaders headers = new LetterHeaders(spark.conf().get("spark.sql.session.timeZone"));
        return Call.of(headers, "headers", TYPE, col("_dead"), col("_origin"));
    }

    /** Gives the headers; called by generated code. */
    public ArrayData headers(InternalRow dead, InternalRow origin) {
        if (dead == null) {
            return null;
        }
        ArrayData own = dead.isNullAt(4) ? null : dead.getArray(4);
        int kept = own == null ? 0 : own.numElements();
        Object[] headers = new Object[kept + 6];
        for (int i = 0; i < kept; i++) {
            headers[i] = own.getStruct(i, 2);
        }
        headers[kept] = header("headrace.reason", text(dead, 0));
        headers[kept + 1] = header("headrace.detail", text(dead, 1));
        headers[kept + 2] = header("headrace.origin.topic", text(origin, 0));
        headers[kept + 3] =
                header("headrace.origin.partition", has(origin, 1) ? "" + origin.getInt(1) : null);
        headers[kept + 4] =
                header("headrace.origin.offset", has(origin, 2) ? "" + origin.getLong(2) : null);
        headers[kept + 5] =
                header("headrace.origin.time", has(origin, 3) ? time(origin.getLong(3)) : null);
        return new GenericArrayData(headers);
    }

    private static boolean has(InternalRow row, int field) {
        return row != null && !row.isNullAt(field);
    }

    private static String text(InternalRow row, int field) {
        return has(row, field) ? row.getUTF8String(field).toString() : null;
    }

    /** Writes a time as Spark does. */
    private String time(long micros) {
        if (formatter == null) {
            formatter = TimestampFormatter$.MODULE$.getFractionFormatter(DateTimeUtils.getZoneId(zone));
        }
        return formatter.format(micros);
    }

    private static InternalRow header(String key, String value) {
        byte[] bytes = value == null ? null : value.getBytes(StandardCharsets.UTF_8);
        return new GenericInternalRow(new Object[] {UTF8String.fromString(key), bytes});
    }
}
