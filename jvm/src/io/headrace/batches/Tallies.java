package io.headrace.batches;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.util.AccumulatorV2;

/**
 * What became of the rows of a batch: how many were on time, late, or dead letters.
 *
 * <p>They are kept by partition, so that one that is read twice counts once. The driver has heard
 * every task of a stage before it begins the stage behind it.
 */
public final class Tallies extends AccumulatorV2<Long, Tallies> {
    private static final long serialVersionUID = 1L;

    // Spark reads an accumulator for its heartbeat while the task goes on.
    private final Map<Integer, Tally> partitions = new ConcurrentHashMap<>();
    private volatile String batch = RunningBatch.NONE;

    /** The counts of one partition. */
    public static final class Tally implements Serializable {
        private static final long serialVersionUID = 1L;

        private long onTime;
        private long late;
        private long dead;

        public void onTime() {
            onTime++;
        }

        public void late() {
            late++;
        }

        public void dead() {
            dead++;
        }
    }

    /** Begins to count a partition, in the task that reads it. */
    public Tally begin(int partition) {
        batch = RunningBatch.ofTask();
        Tally begun = new Tally();
        partitions.put(partition, begun);
        return begun;
    }

    /** The batch that was counted last. */
    String batch() {
        return batch;
    }

    /** How many dead letters there are, by partition, where there are any. */
    synchronized Map<Integer, Long> dead() {
        Map<Integer, Long> found = new HashMap<>();
        partitions.forEach(
                (partition, tally) -> {
                    if (tally.dead > 0) {
                        found.put(partition, tally.dead);
                    }
                });
        return found;
    }

    synchronized long onTime() {
        return partitions.values().stream().mapToLong(tally -> tally.onTime).sum();
    }

    synchronized long late() {
        return partitions.values().stream().mapToLong(tally -> tally.late).sum();
    }

    @Override
    public boolean isZero() {
        // Spark's heartbeat asks accumulators of tasks that are still being read, and stops for
        // ever if one of them fails.
        return partitions == null || partitions.isEmpty();
    }

    @Override
    public synchronized Tallies copy() {
        Tallies copied = new Tallies();
        copied.merge(this);
        return copied;
    }

    @Override
    public Tallies copyAndReset() {
        return new Tallies();
    }

    @Override
    public synchronized void reset() {
        partitions.clear();
        batch = RunningBatch.NONE;
    }

    @Override
    public void add(Long row) {
        throw new UnsupportedOperationException("a row is counted in its partition");
    }

    @Override
    public synchronized void merge(AccumulatorV2<Long, Tallies> other) {
        Tallies told = (Tallies) other;
        if (told.isZero()) {
            return;
        }
        if (!told.batch.equals(batch)) {
            partitions.clear();
            batch = told.batch;
        }
        partitions.putAll(told.partitions);
    }

    @Override
    public Tallies value() {
        return this;
    }
}
