package io.headrace.delivery;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Where a batch ends in each of its sources, as the checkpoint says it: one JSON text each. */
public final class SourceOffsets implements Serializable {
    private static final long serialVersionUID = 1L;

    private final ArrayList<String> sources;

    SourceOffsets(List<String> sources) {
        this.sources = new ArrayList<>(sources);
    }

    /** Reads a file of Spark's {@code offsets} log: version, metadata, then a line a source. */
    static SourceOffsets parse(String file) {
        List<String> lines = file.lines().toList();
        List<String> sources = new ArrayList<>(lines.stream().skip(2).toList());
        if (lines.get(0).equals("v2")) {
            // Each line is "name:offset" there, and the lines come in no order.
            sources.sort(null);
            sources.replaceAll(line -> line.substring(line.indexOf(':') + 1));
        }
        return new SourceOffsets(sources);
    }

    List<String> sources() {
        return sources;
    }

    /** Whether both name the same place in every source. */
    boolean isSame(SourceOffsets other) {
        return trees().equals(other.trees());
    }

    /** Whether this place lies, in every source, not behind the other. */
    boolean isWithin(SourceOffsets other) {
        List<JsonNode> mine = trees();
        List<JsonNode> theirs = other.trees();
        if (mine.size() != theirs.size()) {
            return false;
        }
        for (int i = 0; i < mine.size(); i++) {
            if (!isWithin(mine.get(i), theirs.get(i))) {
                return false;
            }
        }
        return true;
    }

    /** The places in Kafka's topics; sources of other kinds have none. */
    Map<TopicPartition, OffsetAndMetadata> inKafka() {
        Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
        for (JsonNode source : trees()) {
            for (Map.Entry<String, JsonNode> topic : source.properties()) {
                for (Map.Entry<String, JsonNode> place : topic.getValue().properties()) {
                    if (place.getKey().matches("\\d+") && place.getValue().isIntegralNumber()) {
                        found.put(
                                new TopicPartition(
                                        topic.getKey(), Integer.parseInt(place.getKey())),
                                new OffsetAndMetadata(place.getValue().asLong()));
                    }
                }
            }
        }
        return found;
    }

    /** How many places of Kafka's topics lie between an earlier place and this one. */
    long since(SourceOffsets earlier) {
        Map<TopicPartition, OffsetAndMetadata> before = earlier.inKafka();
        long places = 0;
        for (Map.Entry<TopicPartition, OffsetAndMetadata> end : inKafka().entrySet()) {
            OffsetAndMetadata begin = before.get(end.getKey());
            places += end.getValue().offset() - (begin == null ? 0 : begin.offset());
        }
        return places;
    }

    @Override
    public String toString() {
        return String.join(" ", sources);
    }

    private List<JsonNode> trees() {
        // Spark writes a dash for a source that has no offset yet.
        return sources.stream()
                .map(text -> text.equals("-") ? Json.value(null) : Json.read(text))
                .toList();
    }

    private static boolean isWithin(JsonNode mine, JsonNode theirs) {
        if (mine.isNumber() && theirs.isNumber()) {
            return mine.decimalValue().compareTo(theirs.decimalValue()) <= 0;
        }
        if (!mine.isObject() || !theirs.isObject()) {
            return mine.isNull() || mine.equals(theirs);
        }
        Iterator<Map.Entry<String, JsonNode>> parts = mine.properties().iterator();
        while (parts.hasNext()) {
            Map.Entry<String, JsonNode> part = parts.next();
            JsonNode counterpart = theirs.get(part.getKey());
            if (counterpart == null || !isWithin(part.getValue(), counterpart)) {
                return false;
            }
        }
        return true;
    }
}
