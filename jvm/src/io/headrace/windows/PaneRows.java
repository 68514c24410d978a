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

    private byte[] key;
    private final Integer part;
    private final List<Row> rows = new ArrayList<>();

    private long all;
    private long onTime;
    private long late;

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

    /** For a key, null for rows of none; and the part of one that is spread, or null. */
    PaneRows(byte[] key, Integer part) {
        this.key = key;
        this.part = part;
    }

    /** Turns to another key. */
    void turnTo(byte[] next) {
        key = next;
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

    /** Gives a late event; how late is null for one that has no time. */
    void late(byte[] event, Long by) {
        dropped();
        Object[] row = row(LATE);
        row[1] = event;
        row[2] = by;
        row[13] = key;
        rows.add(RowFactory.create(row));
    }

    /** Counts a late event that is not kept. */
    void dropped() {
        all++;
        late++;
    }

    void dead(byte[] event) {
        all++;
        Object[] row = row(DEAD);
        row[1] = event;
        rows.add(RowFactory.create(row));
    }

    /** Counts an event that is in a window. */
    void onTime() {
        all++;
        onTime++;
    }

    /** Tells what became of the events, as those in a window leave no row of their own. */
    void tally() {
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
