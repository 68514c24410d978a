package io.headrace.clock;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.streaming.SourceProgress;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/**
 * What is known of a topic beyond the events: its partitions, and which have a backlog.
 *
 * @param isKnown whether anything has been told since the start
 * @param partitions all partitions of the topic
 * @param behind those with events that are still to be read
 */
record Outlook(boolean isKnown, Set<Integer> partitions, Set<Integer> behind) {
    static final Outlook NONE = new Outlook(false, Set.of(), Set.of());

    /** Nothing is left to read anywhere. */
    static final Outlook CAUGHT_UP = new Outlook(true, Set.of(), Set.of());

    /** The same, with more partitions that have events still to be read. */
    Outlook alsoBehind(Set<Integer> more) {
        Set<Integer> together = new HashSet<>(behind);
        together.addAll(more);
        return new Outlook(isKnown, partitions, together);
    }

    /** Reads the progress of a query's last batch. */
    static Outlook of(StreamingQueryProgress progress, String topic) {
        if (progress == null) {
            return NONE;
        }
        Set<Integer> partitions = new HashSet<>();
        Set<Integer> behind = new HashSet<>();
        for (SourceProgress source : progress.sources()) {
            JsonNode latest = places(source.latestOffset(), topic);
            JsonNode end = places(source.endOffset(), topic);
            for (Map.Entry<String, JsonNode> place : latest.properties()) {
                int partition = Integer.parseInt(place.getKey());
                partitions.add(partition);
                if (place.getValue().asLong() > end.path(place.getKey()).asLong()) {
                    behind.add(partition);
                }
            }
        }
        return new Outlook(true, partitions, behind);
    }

    private static JsonNode places(String offset, String topic) {
        // A source without an offset yet has none, or the text "null".
        return offset == null ? Json.object() : Json.read(offset).path(topic);
    }
}
