package io.headrace.clock;

import java.io.Serializable;
import java.util.Arrays;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.spark.util.AccumulatorV2;

/**
 * What the tasks have seen of a source: per partition the largest event time and how many events.
 *
 * <p>Each task fills a copy that Spark merges into the driver's when the task has succeeded. Maxima
 * stay right when a task is run twice. The driver's own is never emptied: several readers may each
 * remember where they were.
 *
 * <p>Tasks write to plain fields and arrays alone, since Spark's heartbeat looks at the copy of a
 * running task from another thread.
 */
final class Sightings extends AccumulatorV2<Long, Sightings> {
    static final long NEVER = Long.MIN_VALUE;
    private static final long serialVersionUID = 1L;

    private final boolean countsLateness;
    private volatile Slot[] slots = {};
    private long[] lateness;
    private transient Slot current;

    /**
     * Sees nothing yet.
     *
     * @param countsLateness whether to count how far events lie behind those before them
     */
    Sightings(boolean countsLateness) {
        this.countsLateness = countsLateness;
        this.lateness = new long[countsLateness ? Lateness.BUCKETS : 0];
    }

    /** One partition; {@code before} is its largest time in the batches before. */
    private static final class Slot implements Serializable {
        private static final long serialVersionUID = 1L;

        final int partition;
        long before = NEVER;
        long largest = NEVER;
        long events;

        Slot(int partition) {
            this.partition = partition;
        }
    }

    /** Sees an event, in the order of its partition; its time is in microseconds. */
    void see(int partition, long time) {
        Slot slot = current;
        if (slot == null || slot.partition != partition) {
            slot = slot(partition);
            current = slot;
        }
        slot.events++;
        if (countsLateness) {
            long reference = Math.max(slot.before, slot.largest);
            lateness[reference == NEVER ? 0 : Lateness.bucket(reference - time)]++;
        }
        if (time > slot.largest) {
            slot.largest = time;
        }
    }

    /** Lets later tasks know what was the largest time of a partition before this process. */
    synchronized void remember(int partition, long largest) {
        Slot slot = slot(partition);
        slot.before = Math.max(slot.before, largest);
    }

    /** The largest time of each partition that has shown an event. */
    synchronized SortedMap<Integer, Long> largest() {
        SortedMap<Integer, Long> found = new TreeMap<>();
        for (Slot slot : slots) {
            if (slot.events > 0) {
                found.put(slot.partition, slot.largest);
            }
        }
        return found;
    }

    /** How many events each partition has shown. */
    synchronized SortedMap<Integer, Long> events() {
        SortedMap<Integer, Long> found = new TreeMap<>();
        for (Slot slot : slots) {
            found.put(slot.partition, slot.events);
        }
        return found;
    }

    /** How late events came, by bucket; empty if that is not counted. */
    synchronized long[] lateness() {
        return lateness.clone();
    }

    private Slot slot(int partition) {
        for (Slot slot : slots) {
            if (slot.partition == partition) {
                return slot;
            }
        }
        Slot[] more = Arrays.copyOf(slots, slots.length + 1);
        more[slots.length] = new Slot(partition);
        slots = more;
        return more[more.length - 1];
    }

    @Override
    public boolean isZero() {
        // Spark's heartbeat asks accumulators of tasks that are still being read, and stops for
        // ever if one of them fails.
        if (slots == null) {
            return true;
        }
        for (Slot slot : slots) {
            if (slot.events > 0) {
                return false;
            }
        }
        return true;
    }

    @Override
    public synchronized Sightings copy() {
        Sightings copied = new Sightings(countsLateness);
        copied.merge(this);
        return copied;
    }

    /** What a task begins with: nothing seen, and the largest times so far. */
    @Override
    public synchronized Sightings copyAndReset() {
        Sightings copied = new Sightings(countsLateness);
        for (Slot slot : slots) {
            copied.remember(slot.partition, Math.max(slot.before, slot.largest));
        }
        return copied;
    }

    @Override
    public synchronized void reset() {
        slots = new Slot[0];
        lateness = new long[lateness.length];
        current = null;
    }

    @Override
    public void add(Long time) {
        throw new UnsupportedOperationException("an event is seen in its partition");
    }

    @Override
    public synchronized void merge(AccumulatorV2<Long, Sightings> other) {
        Sightings seen = (Sightings) other;
        for (Slot theirs : seen.slots) {
            Slot ours = slot(theirs.partition);
            ours.before = Math.max(ours.before, theirs.before);
            ours.largest = Math.max(ours.largest, theirs.largest);
            ours.events += theirs.events;
        }
        for (int bucket = 0; bucket < lateness.length; bucket++) {
            lateness[bucket] += seen.lateness[bucket];
        }
    }

    @Override
    public Sightings value() {
        return this;
    }
}
