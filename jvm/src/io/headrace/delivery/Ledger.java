package io.headrace.delivery;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** The ledger of one lane: the last committed record in its partition of the progress topic. */
final class Ledger implements AutoCloseable {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long PATIENCE_NANOS = Duration.ofSeconds(60).toNanos();

    /** A batch leaves a record and a commit marker, so the last record is usually this near. */
    private static final long NEAR_THE_END = 16;

    private final DeliveryOptions options;
    private final TopicPartition partition;
    private final byte[] key;
    private final KafkaConsumer<byte[], byte[]> reader;

    Ledger(DeliveryOptions options, int lane) {
        this.options = options;
        this.partition = new TopicPartition(options.progressTopic(), lane);
        this.key = keyOf(options, lane);
        this.reader =
                new KafkaConsumer<>(
                        ClientSettings.committedReader(options),
                        new ByteArrayDeserializer(),
                        new ByteArrayDeserializer());
        reader.assign(List.of(partition));
    }

    /** The key of a lane's records: constant, so that compaction leaves the last one. */
    static byte[] keyOf(DeliveryOptions options, int lane) {
        return options.transactionalId(lane).getBytes(StandardCharsets.UTF_8);
    }

    /** The last record that any reader can see now; null if there is none. */
    LedgerRecord glance() {
        try {
            // For a reader of committed records, the end is the last stable offset.
            return last(reader.endOffsets(List.of(partition)).get(partition));
        } catch (KafkaException problem) {
            throw Failures.named(problem, options);
        }
    }

    /**
     * The last record, after the lane was fenced; null if there is none.
     *
     * <p>It reads up to the high watermark and not to the last stable offset: behind the open
     * transaction of a stranger there could be a newer record of ours.
     */
    LedgerRecord settled() {
        try {
            return last(highWatermark());
        } catch (KafkaException problem) {
            throw Failures.named(problem, options);
        }
    }

    @Override
    public void close() {
        reader.close();
    }

    private long highWatermark() {
        try (Admin admin = Admin.create(ClientSettings.admin(options))) {
            // The admin client counts uncommitted records unless told otherwise.
            return admin.listOffsets(Map.of(partition, OffsetSpec.latest()))
                    .partitionResult(partition)
                    .get()
                    .offset();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while reading the ledger", interrupted);
        } catch (ExecutionException problem) {
            throw Failures.named(problem.getCause(), options);
        }
    }

    private LedgerRecord last(long end) {
        long first = reader.beginningOffsets(List.of(partition)).get(partition);
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        for (long back = NEAR_THE_END; ; back *= NEAR_THE_END) {
            long from = Math.max(first, end - back);
            LedgerRecord found = read(from, end, deadline);
            if (found != null || from == first) {
                return found;
            }
        }
    }

    private LedgerRecord read(long from, long end, long deadline) {
        LedgerRecord found = null;
        reader.seek(partition, from);
        while (reader.position(partition) < end) {
            if (System.nanoTime() - deadline > 0) {
                throw Refusal.passing(
                        null,
                        "ledger-blocked",
                        "the ledger cannot be read to its end",
                        partition + " ends at offset " + end + ", and committed records can be "
                                + "read to " + reader.position(partition) + " only: a transaction "
                                + "that is not ours is open there.",
                        "find it with Kafka's own tool, kafka-transactions.sh find-hanging, and "
                                + "abort it; then start again.");
            }
            for (ConsumerRecord<byte[], byte[]> record : reader.poll(POLL)) {
                if (Arrays.equals(record.key(), key) && record.value() != null) {
                    found = LedgerRecord.parse(record.value());
                }
            }
        }
        return found;
    }
}
