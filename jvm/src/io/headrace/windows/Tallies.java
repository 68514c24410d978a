package io.headrace.windows;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToLongFunction;
import org.apache.spark.util.AccumulatorV2;

/**
 * What became of the rows of a batch: how many were on time, late, or dead letters.
 *
 * <p>They are kept by partition, so that one that is read twice counts once. The driver has heard
 * every task of a stage before it begins the stage behind it.
 */
final class Tallies extends AccumulatorV2<Long, Tallies> {
    private static final long serialVersionUID = 1L;

    // Spark reads an accumulator for its heartbeat while the task goes on.
    private final Map<Integer, Tally> partitions = new ConcurrentHashMap<>();
    private volatile String batch = RunningBatch.NONE;

    /** The counts of one partition. */
    static final class Tally implements Serializable {
        private static final long serialVersionUID = 1L;

        long onTime;
        long late;
        long dead;
    }

    /** Begins to count a partition, in the task that reads it. */
    Tally begin(int partition) {
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

    synchronized long sum(ToLongFunction<Tally> count) {
        return partitions.values().stream().mapToLong(count).sum();
    }

    @Override
    public boolean isZero() {
        return partitions.isEmpty();
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
