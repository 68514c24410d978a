package io.headrace.joins;

import io.headrace.batches.RunningBatch;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.util.AccumulatorV2;

/**
 * What a batch has changed of a table, on its way from the tasks to the driver.
 *
 * <p>Changes are kept by partition, so that one that is evaluated twice counts once. The driver has
 * heard every task of a stage before it begins the stage behind it.
 */
final class TableChanges extends AccumulatorV2<Long, TableChanges> {
    private static final long serialVersionUID = 1L;

    private final Map<Integer, List<byte[][]>> partitions = new TreeMap<>();
    private String batch = RunningBatch.NONE;
    private long version;

    /** Takes the changes of a partition, in its task: each a key, and a row or null. */
    synchronized void take(int partition, List<byte[][]> changes) {
        batch = RunningBatch.ofTask();
        partitions.put(partition, changes);
    }

    /** The batch whose changes these are. */
    synchronized String batch() {
        return batch;
    }

    /** A number that is another one whenever there is more to know. */
    synchronized long version() {
        return version;
    }

    synchronized List<byte[][]> all() {
        List<byte[][]> found = new ArrayList<>();
        partitions.values().forEach(found::addAll);
        return found;
    }

    @Override
    public synchronized boolean isZero() {
        // Spark's heartbeat asks accumulators of tasks that are still being read, and stops for
        // ever if one of them fails.
        return partitions == null || partitions.isEmpty();
    }

    @Override
    public synchronized TableChanges copy() {
        TableChanges copied = new TableChanges();
        copied.merge(this);
        return copied;
    }

    @Override
    public TableChanges copyAndReset() {
        return new TableChanges();
    }

    @Override
    public synchronized void reset() {
        partitions.clear();
        batch = RunningBatch.NONE;
    }

    @Override
    public void add(Long change) {
        throw new UnsupportedOperationException("changes come by partition");
    }

    @Override
    public synchronized void merge(AccumulatorV2<Long, TableChanges> other) {
        TableChanges told = (TableChanges) other;
        if (told.isZero()) {
            return;
        }
        if (!told.batch.equals(batch)) {
            partitions.clear();
            batch = told.batch;
        }
        partitions.putAll(told.partitions);
        version++;
    }

    @Override
    public TableChanges value() {
        return this;
    }

    /** Spark reads an accumulator for its heartbeat while the task goes on. */
    private synchronized void writeObject(ObjectOutputStream out) throws IOException {
        out.defaultWriteObject();
    }
}
