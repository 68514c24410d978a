package io.headrace.clock;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.headrace.clock.ClockState.Partition;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A clock's state as JSON, which is part of every checkpoint.
 *
 * <p>All of it is numbers and texts at the top: whatever looks like a topic with partitions there
 * would be taken for places in Kafka.
 */
final class ClockText {
    private ClockText() {}

    static String of(ClockState state, String name) {
        ObjectNode json = Json.object();
        json.put("clock", name);
        json.put("watermark", state.watermark());
        json.put("delay", state.delay());
        json.put("run", state.run());
        json.put(
                "partitions",
                state.partitions().entrySet().stream()
                        .map(ClockText::text)
                        .collect(Collectors.joining(" ")));
        long[] counts = state.lateness();
        json.put(
                "lateness",
                IntStream.range(0, counts.length)
                        .filter(bucket -> counts[bucket] > 0)
                        .mapToObj(bucket -> bucket + ":" + counts[bucket])
                        .collect(Collectors.joining(" ")));
        return json.toString();
    }

    static ClockState parse(String text) {
        JsonNode json = Json.read(text);
        SortedMap<Integer, Partition> partitions = new TreeMap<>();
        for (String part : words(json, "partitions")) {
            String[] said = part.split(":");
            long largest = said[1].isEmpty() ? Sightings.NEVER : Long.parseLong(said[1]);
            partitions.put(
                    Integer.parseInt(said[0]), new Partition(largest, Long.parseLong(said[2])));
        }
        String[] counted = words(json, "lateness");
        long[] lateness = new long[counted.length == 0 ? 0 : Lateness.BUCKETS];
        for (String part : counted) {
            String[] said = part.split(":");
            lateness[Integer.parseInt(said[0])] = Long.parseLong(said[1]);
        }
        return new ClockState(
                json.path("watermark").asLong(),
                json.path("delay").asLong(),
                json.path("run").asLong(),
                partitions,
                lateness);
    }

    private static String text(Map.Entry<Integer, Partition> entry) {
        long largest = entry.getValue().largest();
        String shown = largest == Sightings.NEVER ? "" : Long.toString(largest);
        return entry.getKey() + ":" + shown + ":" + entry.getValue().busyAt();
    }

    private static String[] words(JsonNode json, String name) {
        String text = json.path(name).asText();
        return text.isEmpty() ? new String[0] : text.split(" ");
    }
}
