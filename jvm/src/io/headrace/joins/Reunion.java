package io.headrace.joins;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.collection.Iterator;

/**
 * Makes one change of two where a row has gone from one partner to another within a batch: it was
 * taken away in one place and came in another, and which is told first must not matter.
 *
 * <p>State: none.
 */
final class Reunion extends StatefulProcessor<Row, Row, Row> {
    private static final long serialVersionUID = 1L;
    private static final int AT = 6;

    @Override
    public void init(OutputMode outputMode, TimeMode timeMode) {
        // There is nothing to keep: a batch has all that belongs together.
    }

    @Override
    public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues timers) {
        if (key.isNullAt(0)) {
            return rows.map(row -> RowFactory.create(first(row, AT + 2)));
        }
        Object[] whole = null;
        while (rows.hasNext()) {
            Object[] next = first(rows.next(), AT + 2);
            whole = whole == null ? next : merged(whole, next);
        }
        return Iterator.single(RowFactory.create(whole));
    }

    private static Object[] first(Row row, int columns) {
        Object[] found = new Object[columns];
        for (int i = 0; i < columns; i++) {
            found[i] = row.get(i);
        }
        return found;
    }

    private static Object[] merged(Object[] one, Object[] other) {
        Object[] whole = one.clone();
        // Columns 2 and 3 are the row before, 4 and 5 the row after it.
        boolean takesBefore = one[2] == null && one[3] == null;
        boolean takesAfter = one[4] == null && one[5] == null;
        for (int i = 2; i < AT; i++) {
            if (i < 4 ? takesBefore : takesAfter) {
                whole[i] = other[i];
            }
        }
        boolean isLater = one[AT] == null || other[AT] != null && (Long) other[AT] > (Long) one[AT];
        whole[AT] = isLater ? other[AT] : one[AT];
        return whole;
    }
}
