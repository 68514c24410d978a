package io.headrace.formats;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The function that Spark calls with each change of a captured table.
 *
 * <p>A change that cannot be read stops the query by name. It is no dead letter: without it the
 * table would go on and differ from its database. Public, as the code that Spark generates calls it.
 */
public final class ChangeFunction implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final String REBUILD =
            "then let the table begin anew with `headrace tables rebuild`.";

    private final StructType row;
    private transient ChangeReader reader;

    ChangeFunction(StructType row) {
        this.row = row;
        // Refuses a type that JSON lacks now, and not in the first batch.
        reader = new ChangeReader(row);
    }

    StructType resultType() {
        return ChangeReader.schema(row);
    }

    /**
     * Reads one change.
     *
     * @param bytes the value; null for a tombstone, which gives null
     * @param topic where it came from
     * @param partition where it came from
     * @param offset where it came from
     */
    public InternalRow read(byte[] bytes, UTF8String topic, int partition, long offset) {
        if (bytes == null) {
            return null;
        }
        if (reader == null) {
            reader = new ChangeReader(row);
        }
        String place = "partition " + partition + ", offset " + offset;
        try {
            return new GenericInternalRow(ordered(reader.read(bytes), offset));
        } catch (ChangeReader.Truncated e) {
            throw new FormatFailure(
                    "table-truncated",
                    "the table behind topic \"" + topic + "\" was truncated",
                    "at " + place + ": a truncation names no rows, so what is kept of them and "
                            + "what the outputs hold cannot follow it.",
                    "have the table captured anew, into a topic that holds no truncation, "
                            + REBUILD);
        } catch (Unreadable e) {
            if (e.isWithin("before") || e.isWithin("after")) {
                throw shapeChanged(topic, place, e);
            }
            throw new FormatFailure(
                    "change-unreadable",
                    "topic \"" + topic + "\" holds something that is no change of a table",
                    "at " + place + ": " + e.detail() + ".",
                    "the connector has to write Debezium's envelope as JSON without schemas "
                            + "(schemas.enable=false); nothing else may write to its topics.");
        }
    }

    /** Lets the log order the changes that their database gives one place. */
    private static Object[] ordered(Object[] change, long offset) {
        if (change[ChangeReader.MINOR_AT] == null && change[ChangeReader.MAJOR_AT] != null) {
            change[ChangeReader.MINOR_AT] = offset;
        }
        return change;
    }

    private static FormatFailure shapeChanged(UTF8String topic, String place, Unreadable e) {
        return new FormatFailure(
                "table-shape-changed",
                "the table behind topic \"" + topic + "\" no longer has the declared columns",
                "at " + place + ": " + e.detail() + " (" + e.reason().slug() + ").",
                "declare the class as the table is now; a column that is not in every change is "
                        + "`| None`; " + REBUILD);
    }

    @Override
    public String toString() {
        return "change";
    }
}
