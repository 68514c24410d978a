package io.headrace.delivery;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.producer.RecordMetadata;

/**
 * Where the rows of a lane end in stamped topics: the offset after the last one, by partition.
 *
 * <p>Who follows such a topic knows by it when all of a batch has been read: a transaction becomes
 * visible in one partition after the other. The ends are those of all batches so far, so that the
 * last record of a compacted ledger tells them all.
 */
final class TopicEnds {
    private final Map<String, Map<Integer, Long>> offsets = new TreeMap<>();
    private boolean isMoved;

    /** The ends that a ledger's record tells, of the topics that are still the same. */
    static TopicEnds after(LedgerRecord last, BatchTerms terms) {
        TopicEnds ends = new TopicEnds();
        if (last != null) {
            last.ends()
                    .forEach(
                            (topic, partitions) -> {
                                String id = terms.topics().get(topic);
                                if (id != null && id.equals(last.terms().topics().get(topic))) {
                                    ends.offsets.put(topic, new TreeMap<>(partitions));
                                }
                            });
        }
        return ends;
    }

    /** Adds the ends of another lane. */
    void add(Map<String, Map<Integer, Long>> others) {
        others.forEach(
                (topic, partitions) ->
                        partitions.forEach((number, end) -> raise(topic, number, end)));
    }

    /** Notes a row that is on its way: where it lies is told by the brokers. */
    void expect() {
        isMoved = true;
    }

    /** Notes where a row lies; called by the producer's own thread. */
    void reach(RecordMetadata place) {
        raise(place.topic(), place.partition(), place.offset() + 1);
    }

    /** Whether this batch has rows whose places have to be waited for. */
    boolean isMoved() {
        return isMoved;
    }

    synchronized Map<String, Map<Integer, Long>> offsets() {
        return offsets;
    }

    static Map<String, Map<Integer, Long>> parse(JsonNode json) {
        TopicEnds ends = new TopicEnds();
        json.properties()
                .forEach(
                        topic ->
                                topic.getValue()
                                        .properties()
                                        .forEach(
                                                partition ->
                                                        ends.raise(
                                                                topic.getKey(),
                                                                Integer.parseInt(
                                                                        partition.getKey()),
                                                                partition.getValue().asLong())));
        return ends.offsets();
    }

    private synchronized void raise(String topic, int partition, long end) {
        offsets.computeIfAbsent(topic, name -> new TreeMap<>()).merge(partition, end, Math::max);
    }
}
