package io.headrace.operators;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;

/**
 * Counts the rows of each key since the stream began.
 *
 * <p>Emits one row, the key and its count so far, for each key and micro-batch in which the key
 * occurred. Rows whose key is null form one key of their own.
 *
 * <p>State: one long per key, never cleared. Late events: counted like any other, as no time is
 * looked at. After a restart: goes on from the counts of the last committed batch.
 */
public final class RunningCount extends StatefulProcessor<Row, Row, Row> {
    private static final long serialVersionUID = 1L;

    private transient ValueState<Long> count;

    private RunningCount() {}

    /**
     * Counts rows by a column.
     *
     * @param rows the input, a stream or a finished data set
     * @param key the name of the column to count by
     * @return the key column as it was, and {@code count}
     */
    public static Dataset<Row> over(Dataset<Row> rows, String key) {
        KeyedRows keyed = KeyedRows.by(rows, key);
        StructType output =
                new StructType().add(keyed.keyField()).add("count", DataTypes.LongType, false);
        return keyed.groups()
                .transformWithState(
                        new RunningCount(),
                        TimeMode.None(),
                        OutputMode.Append(),
                        Encoders.row(output));
    }

    @Override
    public void init(OutputMode outputMode, TimeMode timeMode) {
        count = getHandle().getValueState("count", Encoders.LONG(), TTLConfig.NONE());
    }

    @Override
    public Iterator<Row> handleInputRows(Row key, Iterator<Row> rows, TimerValues timers) {
        // get() answers null for a new key; asking exists() first would read the store twice.
        Long before = count.get();
        long now = before == null ? 0L : before;
        while (rows.hasNext()) {
            rows.next();
            now++;
        }
        count.update(now);
        return Iterator.single(RowFactory.create(key.get(0), now));
    }
}
