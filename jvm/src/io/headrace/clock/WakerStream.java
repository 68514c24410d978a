package io.headrace.clock;

import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/** The offsets of a {@link Waker}: how often it has asked for a batch. */
final class WakerStream implements MicroBatchStream, SupportsTriggerAvailableNow {
    static final String NAME = "waker";
    private static final String WAKES = "wakes";

    private boolean isDue;

    WakerStream(Journal journal) {
        // Now: when Spark asks, it may have repeated a batch, and run the one that was due.
        this.isDue = journal.isBatchDue();
    }

    /** How often a batch was asked for. */
    private static final class Wakes extends Offset {
        private final long number;

        Wakes(long number) {
            this.number = number;
        }

        @Override
        public String json() {
            return "{\"" + WAKES + "\":" + number + "}";
        }
    }

    @Override
    public Offset initialOffset() {
        return new Wakes(0);
    }

    @Override
    public Offset latestOffset() {
        throw new UnsupportedOperationException("the waker goes on from where it is");
    }

    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
        long wakes = ((Wakes) start).number;
        if (isDue) {
            isDue = false;
            return new Wakes(wakes + 1);
        }
        // To Spark the first offset of a source is something new, whatever it is.
        return wakes == 0 ? null : start;
    }

    @Override
    public void prepareForTriggerAvailableNow() {}

    @Override
    public Offset deserializeOffset(String json) {
        return new Wakes(Json.read(json).path(WAKES).asLong());
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
        return new InputPartition[0];
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return new Tick.Factory();
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {}

    /** What Spark's progress calls the source. */
    @Override
    public String toString() {
        return NAME;
    }
}
