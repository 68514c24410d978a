package io.headrace.clock;

import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks at the last records of a topic that a batch will read, before it does.
 *
 * <p>The largest time of some events of a partition is not more than that of all, so a watermark by
 * it is never too far on. Whatever goes wrong, nothing is known of this batch, and the watermark
 * waits until it has shown its events.
 */
final class LogEnd implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LogEnd.class);

    /** Of each partition. Events are in order but for some, so few have the largest time or nearly. */
    private static final int RECORDS = 64;

    private static final Duration PATIENCE = Duration.ofMillis(200);

    private final String topic;
    private final Map<String, Object> client;
    private final TimeOf time;

    /** Where batches that were looked at have ended. */
    private final Map<Integer, Long> seen = new HashMap<>();

    private KafkaConsumer<byte[], byte[]> consumer;
    private boolean isBlind;

    LogEnd(String topic, Map<String, Object> client, TimeOf time) {
        this.topic = topic;
        this.client = new HashMap<>(client);
        this.client.put("enable.auto.commit", false);
        this.client.put("auto.offset.reset", "none");
        this.client.put("isolation.level", "read_committed");
        this.client.put("max.partition.fetch.bytes", 128 * 1024);
        // What is asked for is there. A request that waited for more would be in the way of the next.
        this.client.put("fetch.max.wait.ms", 10);
        this.time = time;
    }

    /**
     * What a look has shown.
     *
     * @param largest the largest times, of partitions that have events in the batch
     * @param unseen partitions that have records in it, or may have, which were not looked at: what
     *     they will show holds the watermark, though they were silent until now
     */
    record Look(Map<Integer, Long> largest, Set<Integer> unseen) {}

    /**
     * Looks at the last records of a batch.
     *
     * @param ends by partition, the first offset that the batch will not read
     */
    Look at(Map<Integer, Long> ends) {
        Map<Integer, Long> fresh = new HashMap<>(ends);
        // Where the first batch of a partition begins is not known; it may be anywhere before.
        fresh.entrySet().removeIf(e -> e.getValue() <= seen.getOrDefault(e.getKey(), e.getValue()));
        Set<Integer> unseen = new HashSet<>(ends.keySet());
        unseen.removeAll(seen.keySet());
        unseen.addAll(fresh.keySet());
        Map<Integer, Long> found = new HashMap<>();
        try {
            if (!fresh.isEmpty()) {
                unseen.removeAll(read(fresh, found));
                isBlind = false;
            }
        } catch (RuntimeException problem) {
            if (!isBlind) {
                LOG.warn("what topic {} ends with cannot be seen for now", topic, problem);
            }
            isBlind = true;
            close();
        }
        seen.putAll(ends);
        return new Look(found, unseen);
    }

    /** Reads the last records; gives the partitions whose ends it has come to. */
    private Set<Integer> read(Map<Integer, Long> ends, Map<Integer, Long> found) {
        if (consumer == null) {
            var bytes = new ByteArrayDeserializer();
            consumer = new KafkaConsumer<>(client, bytes, bytes);
        }
        Set<TopicPartition> wanted =
                ends.keySet().stream()
                        .map(number -> new TopicPartition(topic, number))
                        .collect(Collectors.toSet());
        consumer.assign(wanted);
        for (TopicPartition partition : wanted) {
            int number = partition.partition();
            long from = Math.max(seen.get(number), ends.get(number) - RECORDS);
            consumer.seek(partition, from);
        }
        Set<Integer> done = new HashSet<>();
        long until = System.nanoTime() + PATIENCE.toNanos();
        while (!wanted.isEmpty() && System.nanoTime() < until) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(PATIENCE.dividedBy(4))) {
                if (record.offset() < ends.get(record.partition())) {
                    time.of(record).ifPresent(at -> found.merge(record.partition(), at, Math::max));
                }
            }
            for (TopicPartition place : wanted) {
                if (consumer.position(place, PATIENCE) >= ends.get(place.partition())) {
                    done.add(place.partition());
                }
            }
            wanted.removeIf(place -> done.contains(place.partition()));
        }
        return done;
    }

    @Override
    public void close() {
        if (consumer != null) {
            consumer.close(CloseOptions.timeout(Duration.ZERO));
            consumer = null;
        }
    }
}
