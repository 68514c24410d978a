package io.headrace.tables;

import io.headrace.operators.Parcel;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;

/**
 * One change of a key, as it came.
 *
 * @param row the row after it, packed; null if it takes the row away
 * @param unsent the names of the columns that the database has not sent
 * @param isSnapshot whether the row was read by a snapshot
 * @param place where its database says it is, or null
 * @param origin where it was read, and when it was made
 * @param carried origin, dead letter and source of the input, packed
 */
record Change(
        byte[] row,
        List<String> unsent,
        boolean isSnapshot,
        Place place,
        Origin origin,
        byte[] carried) {
    // The columns of a packed change, in the order in which Tables packs them.
    private static final int AFTER = 0;
    private static final int UNCHANGED = 1;
    private static final int IS_SNAPSHOT = 2;
    private static final int POSITION = 3;
    private static final int MAJOR = 4;
    private static final int MINOR = 5;
    private static final int AT = 6;
    private static final int ORIGIN = 7;

    /** Reads a change that was packed. */
    static Change of(Parcel parcel, int columns, byte[] packed, byte[] carried) {
        UnsafeRow row = parcel.unpack(packed);
        boolean isGone = row.isNullAt(AFTER);
        InternalRow origin = row.getStruct(ORIGIN, 2);
        return new Change(
                isGone ? null : row.getStruct(AFTER, columns).getBytes(),
                unsent(row.isNullAt(UNCHANGED) ? null : row.getArray(UNCHANGED)),
                row.getBoolean(IS_SNAPSHOT),
                place(row),
                new Origin(
                        origin.getInt(0),
                        origin.getLong(1),
                        row.isNullAt(AT) ? Origin.NO_TIME : row.getLong(AT)),
                carried);
    }

    int partition() {
        return origin.partition();
    }

    long offset() {
        return origin.offset();
    }

    long at() {
        return origin.at();
    }

    private static Place place(UnsafeRow row) {
        boolean isKnown = !row.isNullAt(POSITION) && !row.isNullAt(MAJOR) && !row.isNullAt(MINOR);
        return isKnown
                ? new Place(row.getLong(POSITION), row.getLong(MAJOR), row.getLong(MINOR))
                : null;
    }

    private static List<String> unsent(ArrayData names) {
        if (names == null || names.numElements() == 0) {
            return List.of();
        }
        List<String> found = new ArrayList<>();
        for (int i = 0; i < names.numElements(); i++) {
            found.add(names.getUTF8String(i).toString());
        }
        return found;
    }
}
