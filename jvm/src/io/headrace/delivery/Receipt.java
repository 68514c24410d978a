package io.headrace.delivery;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What a task reports of its part of a batch.
 *
 * @param lane which part
 * @param held whether it was in the output already
 * @param rows how many rows each sink was given
 * @param phases how long each phase took, in milliseconds; the delivery into another sink than
 *     Kafka has its sink's name before the phase's
 */
record Receipt(int lane, boolean held, long[] rows, Map<String, Double> phases) {
    String toJson() {
        ObjectNode json = Json.object().put("lane", lane).put("held", held);
        json.set("rows", Json.value(rows));
        json.set("phases", Json.value(phases));
        return json.toString();
    }

    /** A refusal as a task's result: an exception would have Spark run the task again. */
    static String refused(Refusal refusal) {
        return Json.object()
                .put("refusal", refusal.slug())
                .put("message", refusal.getMessage())
                .put("final", refusal.isFinal())
                .toString();
    }

    /**
     * Reads a report.
     *
     * @throws Refusal if that is what the task reported
     */
    static Receipt parse(String text) {
        JsonNode json = Json.read(text);
        if (json.has("refusal")) {
            throw Refusal.received(
                    json.get("refusal").asText(),
                    json.get("message").asText(),
                    json.get("final").asBoolean());
        }
        JsonNode counts = json.get("rows");
        long[] rows = new long[counts.size()];
        for (int sink = 0; sink < rows.length; sink++) {
            rows[sink] = counts.get(sink).asLong();
        }
        Map<String, Double> phases = new LinkedHashMap<>();
        for (Map.Entry<String, JsonNode> phase : json.get("phases").properties()) {
            phases.put(phase.getKey(), phase.getValue().asDouble());
        }
        return new Receipt(json.get("lane").asInt(), json.get("held").asBoolean(), rows, phases);
    }
}
