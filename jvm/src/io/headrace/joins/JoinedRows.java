package io.headrace.joins;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Rows that a join gives for a key: results, late rows, dead letters, and a tally. */
final class JoinedRows {
    static final int JOINED = 0;
    static final int LATE_LEFT = 1;
    static final int DEAD = 2;
    static final int TALLY = 3;
    static final int LATE_RIGHT = 4;

    /** An event for which a table has no row. */
    static final int MISSING = 4;

    private final List<Row> rows = new ArrayList<>();
    private long in;
    private long matched;
    private long unmatched;
    private long late;

    static StructType schema() {
        return new StructType()
                .add("_kind", DataTypes.IntegerType, false)
                .add("_left", DataTypes.BinaryType)
                .add("_right", DataTypes.BinaryType)
                .add("_late_by", DataTypes.LongType)
                .add("_carried", DataTypes.BinaryType)
                .add("_in", DataTypes.LongType)
                .add("_matched", DataTypes.LongType)
                .add("_unmatched", DataTypes.LongType)
                .add("_late", DataTypes.LongType);
    }

    /** Gives all rows, and the tally behind them. */
    List<Row> all() {
        rows.add(RowFactory.create(TALLY, null, null, null, null, in, matched, unmatched, late));
        return rows;
    }

    void came(long number) {
        in += number;
    }

    void joined(byte[] left, byte[] right) {
        rows.add(RowFactory.create(JOINED, left, right, null, null, null, null, null, null));
    }

    void dead(byte[] carried) {
        rows.add(RowFactory.create(DEAD, null, null, null, carried, null, null, null, null));
    }

    /** Counts a late row, and gives it if it is to go on. */
    void late(boolean isLeft, byte[] row, Long by, boolean isKept) {
        late++;
        if (isKept) {
            byte[] left = isLeft ? row : null;
            byte[] right = isLeft ? null : row;
            int kind = isLeft ? LATE_LEFT : LATE_RIGHT;
            rows.add(RowFactory.create(kind, left, right, by, null, null, null, null, null));
        }
    }

    /** Counts an event for which there is no row, and sets it apart. */
    void missing(byte[] event) {
        unmatched++;
        rows.add(RowFactory.create(MISSING, event, null, null, null, null, null, null, null));
    }

    /** Counts a row that has found its first partner. */
    void matched() {
        matched++;
    }

    /** Counts a row that has had no partner and will have none, and gives it if it is told. */
    void unmatched(boolean isLeft, byte[] row, boolean isTold) {
        unmatched++;
        if (isTold) {
            joined(isLeft ? row : null, isLeft ? null : row);
        }
    }
}
