package io.headrace.windows;

import java.io.Serializable;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToLongFunction;
import org.apache.spark.TaskContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * What became of the rows of a batch: how many were on time, late, or dead letters.
 *
 * <p>They are kept by task, so that one that is run twice counts once. The driver has heard every
 * task of a stage before it begins the stage behind it.
 */
final class Tallies extends AccumulatorV2<Long, Tallies> {
    private static final long serialVersionUID = 1L;

    // Spark reads an accumulator for its heartbeat while the task goes on.
    private final Map<Integer, Tally> tasks = new ConcurrentHashMap<>();
    private volatile long batch = RunningBatch.NONE;

    /** The counts of one task. */
    static final class Tally implements Serializable {
        private static final long serialVersionUID = 1L;

        long onTime;
        long late;
        long dead;
    }

    /** Gives the counts of the task that asks. */
    Tally begin() {
        batch = RunningBatch.number();
        return tasks.computeIfAbsent(TaskContext.getPartitionId(), partition -> new Tally());
    }

    /** The batch that was counted last. */
    long batch() {
        return batch;
    }

    synchronized long sum(ToLongFunction<Tally> count) {
        return tasks.values().stream().mapToLong(count).sum();
    }

    @Override
    public boolean isZero() {
        return tasks.isEmpty();
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
        tasks.clear();
        batch = RunningBatch.NONE;
    }

    @Override
    public void add(Long row) {
        throw new UnsupportedOperationException("a row is counted by its task");
    }

    @Override
    public synchronized void merge(AccumulatorV2<Long, Tallies> other) {
        Tallies told = (Tallies) other;
        if (told.batch > batch) {
            tasks.clear();
            batch = told.batch;
        }
        if (told.batch == batch) {
            tasks.putAll(told.tasks);
        }
    }

    @Override
    public Tallies value() {
        return this;
    }
}
