package io.headrace.windows;

import io.headrace.windows.Held.Bounds;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Rows that an operator gives for a key: panes, late events, dead letters, and a tally. */
final class PaneRows {
    static final int PANE = 0;
    static final int LATE = 1;
    static final int DEAD = 2;
    static final int TALLY = 3;

    /** Where columns are in a row. */
    static final int KIND = 0;

    static final int START = 3;
    static final int END = 4;
    static final int RESULT = 6;

    private static final int COLUMNS = 15;
    private static final int PART_OF_GROUP = 2;

    private final byte[] key;
    private final Integer part;
    private final List<Row> rows = new ArrayList<>();

    /** Why a pane fires. */
    enum Kind {
        EARLY("early"),
        ON_TIME("on-time"),
        LATE("late");

        final String text;

        Kind(String text) {
            this.text = text;
        }
    }

    /** A pane's window, why it fires, and its number. */
    record Label(Bounds bounds, String place, Kind kind, long number) {}

    /** For the key of a group: its bytes, null for rows of no key, and the part of a spread one. */
    PaneRows(Row group) {
        this.key = group.getAs(0);
        this.part = group.length() > PART_OF_GROUP ? group.getAs(PART_OF_GROUP) : null;
    }

    static StructType schema() {
        return new StructType()
                .add("_kind", DataTypes.IntegerType, false)
                .add("_row", DataTypes.BinaryType)
                .add("_late_by", DataTypes.LongType)
                .add("_start", DataTypes.LongType)
                .add("_end", DataTypes.LongType)
                .add("_place", DataTypes.StringType)
                .add("_result", DataTypes.BinaryType)
                .add("_why", DataTypes.StringType)
                .add("_number", DataTypes.LongType)
                .add("_retraction", DataTypes.BooleanType)
                .add("_on_time", DataTypes.LongType)
                .add("_in", DataTypes.LongType)
                .add("_late", DataTypes.LongType)
                .add("_by", DataTypes.BinaryType)
                .add("_part", DataTypes.IntegerType);
    }

    List<Row> rows() {
        return rows;
    }

    void pane(Label label, byte[] result, boolean isRetraction) {
        Object[] row = row(PANE);
        if (!label.bounds().equals(Bounds.NONE)) {
            row[START] = label.bounds().start();
            row[END] = label.bounds().end();
        }
        row[5] = label.place();
        row[RESULT] = result;
        row[7] = label.kind().text;
        row[8] = label.number();
        row[9] = isRetraction;
        row[13] = key;
        row[14] = part;
        rows.add(RowFactory.create(row));
    }

    void late(byte[] event, Long by) {
        Object[] row = row(LATE);
        row[1] = event;
        row[2] = by;
        row[13] = key;
        rows.add(RowFactory.create(row));
    }

    void dead(byte[] event) {
        Object[] row = row(DEAD);
        row[1] = event;
        rows.add(RowFactory.create(row));
    }

    /** Counts what became of the events, as those in a window leave no row of their own. */
    void tally(long all, long onTime, long late) {
        Object[] row = row(TALLY);
        row[10] = onTime;
        row[11] = all;
        row[12] = late;
        rows.add(RowFactory.create(row));
    }

    private Object[] row(int kind) {
        Object[] row = new Object[COLUMNS];
        row[KIND] = kind;
        return row;
    }
}
