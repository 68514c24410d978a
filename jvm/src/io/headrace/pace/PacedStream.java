package io.headrace.pace;

import io.headrace.batches.RunningBatch;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.kafka010.KafkaMicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaSourceOffset;
import scala.jdk.javaapi.CollectionConverters;

/** Spark's own stream of Kafka's records, asked at the query's pace. */
final class PacedStream
        implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
    /** What a progress calls the pause before its batch. */
    private static final String PAUSE = "pauseMs";

    private final KafkaMicroBatchStream kafka;
    private final SparkContext context;
    private final long mostMs;

    private String query;
    private boolean isBounded;
    private long pausedMs;

    PacedStream(KafkaMicroBatchStream kafka, SparkContext context, long mostMs) {
        this.kafka = kafka;
        this.context = context;
        this.mostMs = mostMs;
    }

    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
        if (query == null) {
            query = String.valueOf(context.getLocalProperty(RunningBatch.QUERY));
        }
        Pace pace = Pace.of(query, mostMs);
        // A run that ends at what is there waits for nothing more.
        pausedMs = isBounded ? 0 : pace.await(context.getLocalProperty(RunningBatch.BATCH));
        Offset end = kafka.latestOffset(start, limit);
        Offset latest = kafka.reportLatestOffset();
        pace.found(places(end) - places(start), places(latest) > places(end));
        return end;
    }

    private static long places(Offset offset) {
        long sum = 0;
        if (offset instanceof KafkaSourceOffset known) {
            for (Object place :
                    CollectionConverters.asJava(known.partitionToOffsets()).values()) {
                sum += ((Number) place).longValue();
            }
        }
        return sum;
    }

    @Override
    public Map<String, String> metrics(Optional<Offset> latestConsumedOffset) {
        Map<String, String> told = new HashMap<>(kafka.metrics(latestConsumedOffset));
        told.put(PAUSE, Long.toString(pausedMs));
        return told;
    }

    @Override
    public void prepareForTriggerAvailableNow() {
        isBounded = true;
        kafka.prepareForTriggerAvailableNow();
    }

    @Override
    public Offset initialOffset() {
        return kafka.initialOffset();
    }

    @Override
    public ReadLimit getDefaultReadLimit() {
        return kafka.getDefaultReadLimit();
    }

    @Override
    public Offset reportLatestOffset() {
        return kafka.reportLatestOffset();
    }

    @Override
    public Offset latestOffset() {
        return kafka.latestOffset();
    }

    @Override
    public Offset deserializeOffset(String json) {
        return kafka.deserializeOffset(json);
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
        return kafka.planInputPartitions(start, end);
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return kafka.createReaderFactory();
    }

    @Override
    public void commit(Offset end) {
        kafka.commit(end);
    }

    @Override
    public void stop() {
        if (query != null) {
            Pace.forget(query);
        }
        kafka.stop();
    }

    /** What Spark's progress calls the source. */
    @Override
    public String toString() {
        return kafka.toString();
    }
}
