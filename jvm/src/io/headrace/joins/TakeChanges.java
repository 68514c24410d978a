package io.headrace.joins;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;

/** Hands the changes of a table to the driver, and gives its dead letters. */
final class TakeChanges implements MapPartitionsFunction<Row, byte[]> {
    private static final long serialVersionUID = 1L;

    /** Where columns are in a row that comes in. */
    static final int KEY = 0;

    static final int ROW = 1;
    static final int CARRIED = 2;

    private final TableChanges changes;
    private final TableBound bound;

    TakeChanges(TableChanges changes, TableBound bound) {
        this.changes = changes;
        this.bound = bound;
    }

    @Override
    public Iterator<byte[]> call(Iterator<Row> rows) {
        List<byte[][]> found = new ArrayList<>();
        List<byte[]> dead = new ArrayList<>();
        long size = 0;
        while (rows.hasNext()) {
            Row row = rows.next();
            if (row.isNullAt(CARRIED)) {
                byte[][] change = {row.getAs(KEY), row.getAs(ROW)};
                found.add(change);
                if (change[1] != null) {
                    // All of them are in the table behind this batch.
                    size += TableBound.size(change[0], change[1]);
                    bound.require(size);
                }
            } else {
                dead.add(row.getAs(CARRIED));
            }
        }
        if (!found.isEmpty()) {
            changes.take(TaskContext.getPartitionId(), found);
        }
        return dead.iterator();
    }
}
