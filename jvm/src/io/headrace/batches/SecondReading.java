package io.headrace.batches;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
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
 *
 * <p>It is in the plan twice, as the condition that finds the dead letters and as the function behind
 * it, and is one object in each task. Public, as the code that Spark generates calls it.
 */
public final class SecondReading implements MapPartitionsFunction<byte[], Row> {
    static final int DEAD = 2;
    static final int TALLY = 3;

    private static final long serialVersionUID = 1L;

    private transient Tallies tallies;
    private transient String batch;
    private transient long onTime;
    private transient long late;
    private transient Map<Integer, Long> dead;

    private transient int partition = -1;
    private transient long found;

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

    /** Sees each row of a partition that is read again; lets the dead letters pass. */
    public boolean isDead(boolean isDead, int ofPartition) {
        partition = ofPartition;
        if (isDead) {
            found++;
        }
        return isDead;
    }

    @Override
    public Iterator<Row> call(Iterator<byte[]> rows) {
        // Without a count of this batch there were no rows; and if there were, all is read.
        boolean isCounted = RunningBatch.ofTask().equals(batch);
        boolean isRead = !isCounted || !dead.isEmpty();
        return new Iterator<>() {
            private boolean isTold = !isCounted;

            @Override
            public boolean hasNext() {
                if (!isTold || (isRead && rows.hasNext())) {
                    return true;
                }
                if (isCounted && isRead) {
                    requireAll();
                }
                return false;
            }

            @Override
            public Row next() {
                if (!isTold) {
                    isTold = true;
                    return tally();
                }
                return RowFactory.create(DEAD, null, null, null, rows.next());
            }
        };
    }

    private Row tally() {
        long all = onTime + late + dead.values().stream().mapToLong(Long::longValue).sum();
        return RowFactory.create(TALLY, all, onTime, late, null);
    }

    /**
     * Fails where the second reading differs from the first, as an input that is a dead letter in the
     * one alone would go nowhere. It does if the registry learns of a schema in between.
     */
    private void requireAll() {
        long counted = dead.getOrDefault(partition, 0L);
        if (partition >= 0 && found != counted) {
            throw new IllegalStateException(
                    counted
                            + " inputs could not be read, and "
                            + found
                            + " when they were read again; the next attempt begins anew");
        }
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
        out.defaultWriteObject();
        synchronized (tallies) {
            out.writeUTF(tallies.batch());
            out.writeLong(tallies.onTime());
            out.writeLong(tallies.late());
            out.writeObject(tallies.dead());
        }
    }

    @SuppressWarnings("unchecked")
    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
        in.defaultReadObject();
        batch = in.readUTF();
        onTime = in.readLong();
        late = in.readLong();
        dead = (HashMap<Integer, Long>) in.readObject();
        partition = -1;
    }
}
