package io.headrace.joins;

import io.headrace.batches.RunningBatch;
import io.headrace.joins.TableCopy.Key;
import io.headrace.operators.Parcel;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/**
 * A table that every task holds, as of the batch that the task is of.
 *
 * <p>The driver has a copy. When Spark writes this for a stage, the stages before it are done, and
 * with them the changes of the batch have come: they are applied to the copy of the batch before, and
 * a broadcast of the result is what is written. Public, as the code that Spark generates calls it.
 */
public final class HeldTable implements Serializable {
    private static final long serialVersionUID = 1L;

    private final Parcel key;
    private final Parcel row;
    private final TableBound bound;
    private final RunningBatch batch;

    // On the driver.
    private final transient JavaSparkContext context;
    private final transient TableChanges changes;
    private transient Map<Key, byte[]> before;
    private transient Map<Key, byte[]> rows;
    private transient String asOf = RunningBatch.NONE;
    private transient long number;
    private transient long version;

    // On both.
    private transient Broadcast<TableCopy> copy;
    private transient TableCopy table;

    /** The rows that a table had after a batch; its number is -1 if there was none. */
    record Stored(Map<Key, byte[]> rows, long batch) {}

    /**
     * Makes the function.
     *
     * @param stored the rows to go on from
     */
    HeldTable(
            SparkSession session,
            Stored stored,
            Parcel key,
            Parcel row,
            TableChanges changes,
            TableBound bound) {
        this.context = JavaSparkContext.fromSparkContext(session.sparkContext());
        this.rows = stored.rows();
        this.number = stored.batch();
        this.key = key;
        this.row = row;
        this.changes = changes;
        this.bound = bound;
        this.batch = new RunningBatch(session);
        this.batch.isOf(this);
    }

    /** Gives the row of a key, or null. */
    public UnsafeRow find(InternalRow asked) {
        if (table == null) {
            batch.requireOwnBatch();
            table = copy.value();
        }
        return asked.anyNull() ? null : row.unpackIfAny(table.find(key.pack(asked)));
    }

    /** Gives the table with all changes of the batch that are known. */
    private synchronized Broadcast<TableCopy> current() {
        String now = batch.now();
        // Spark may also write it when nothing runs, to see whether it can.
        if (!now.equals(asOf) && !now.equals(RunningBatch.NONE)) {
            begin(now);
        }
        long known = changes.batch().equals(now) ? changes.version() : 0;
        if (known != version) {
            version = known;
            rows = changed();
            release();
        }
        if (copy == null) {
            bound.require(size());
            copy = context.broadcast(new TableCopy(rows));
        }
        return copy;
    }

    /** Goes on to another batch, which has to be the next one. */
    private void begin(String now) {
        long begun = Long.parseLong(now.substring(now.lastIndexOf('/') + 1));
        if (begun != number + 1) {
            throw new IllegalStateException(
                    "batch " + begun + " cannot follow on the table of batch " + number);
        }
        number = begun;
        asOf = now;
        before = rows;
        version = 0;
    }

    private Map<Key, byte[]> changed() {
        Map<Key, byte[]> made = new HashMap<>(before);
        for (byte[][] change : changes.all()) {
            if (change[1] == null) {
                made.remove(new Key(change[0]));
            } else {
                made.put(new Key(change[0]), change[1]);
            }
        }
        return made;
    }

    private long size() {
        return rows.entrySet().stream()
                .mapToLong(entry -> TableBound.size(entry.getKey().bytes(), entry.getValue()))
                .sum();
    }

    /** A task that is still at it may fetch it again. */
    private void release() {
        if (copy != null) {
            copy.unpersist();
            copy = null;
        }
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
        out.defaultWriteObject();
        out.writeObject(context == null ? copy : current());
    }

    @SuppressWarnings("unchecked")
    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
        in.defaultReadObject();
        copy = (Broadcast<TableCopy>) in.readObject();
    }

    @Override
    public String toString() {
        return bound.name();
    }
}
