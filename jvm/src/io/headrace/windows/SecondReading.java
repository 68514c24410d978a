package io.headrace.windows;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.Iterator;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Gives the dead letters that an earlier stage has counted, and reads nothing if it has met none.
 *
 * <p>When Spark writes this for a stage, the stages before it are done, and it takes their counts
 * with it. The rows that it is given are not read until it asks for the first: where the batch has no
 * dead letter, the source is never opened.
 */
final class SecondReading implements MapPartitionsFunction<byte[], Row> {
    private static final long serialVersionUID = 1L;

    private transient Tallies tallies;
    private transient long batch;
    private transient long onTime;
    private transient long late;
    private transient long dead;

    SecondReading(Tallies tallies) {
        this.tallies = tallies;
    }

    static StructType schema() {
        return new StructType()
                .add("_kind", DataTypes.IntegerType, false)
                .add("_in", DataTypes.LongType)
                .add("_on_time", DataTypes.LongType)
                .add("_late", DataTypes.LongType)
                .add("_row", DataTypes.BinaryType);
    }

    @Override
    public Iterator<Row> call(Iterator<byte[]> rows) {
        // Without a count of this batch there were no rows; and if there were, all is read.
        boolean isCounted = batch == RunningBatch.number();
        return new Iterator<>() {
            private boolean isTold = !isCounted;

            @Override
            public boolean hasNext() {
                return !isTold || ((!isCounted || dead > 0) && rows.hasNext());
            }

            @Override
            public Row next() {
                if (!isTold) {
                    isTold = true;
                    return tally();
                }
                return RowFactory.create(PaneRows.DEAD, null, null, null, rows.next());
            }
        };
    }

    private Row tally() {
        return RowFactory.create(PaneRows.TALLY, onTime + late + dead, onTime, late, null);
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
        out.defaultWriteObject();
        synchronized (tallies) {
            out.writeLong(tallies.batch());
            out.writeLong(tallies.sum(task -> task.onTime));
            out.writeLong(tallies.sum(task -> task.late));
            out.writeLong(tallies.sum(task -> task.dead));
        }
    }

    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
        in.defaultReadObject();
        batch = in.readLong();
        onTime = in.readLong();
        late = in.readLong();
        dead = in.readLong();
    }
}
