package io.headrace.delivery;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What a lane's ledger says: the last batch that is in the output, and how to know it again.
 *
 * @param terms the batch
 * @param rows how many rows of it this lane wrote
 * @param checksum the order-free checksum of these rows; null where the lanes were changed since
 * @param ends by topic and partition, the offset after the lane's last row; of stamped topics only
 */
public record LedgerRecord(
        BatchTerms terms, long rows, Long checksum, Map<String, Map<Integer, Long>> ends) {
    public LedgerRecord(BatchTerms terms, long rows, Long checksum) {
        this(terms, rows, checksum, Map.of());
    }

    public byte[] toBytes() {
        ObjectNode json =
                Json.object()
                        .put("lineage", terms.lineage())
                        .put("batch", terms.batch())
                        .put("lanes", terms.lanes())
                        .put("rows", rows);
        json.put("checksum", checksum == null ? null : Long.toHexString(checksum));
        if (terms.generation() > 0) {
            json.put("generation", terms.generation());
        }
        json.set("offsets", Json.value(terms.offsets().sources()));
        json.set("topics", Json.value(terms.topics()));
        if (!ends.isEmpty()) {
            json.set("ends", Json.value(ends));
        }
        return json.toString().getBytes(StandardCharsets.UTF_8);
    }

    public static LedgerRecord parse(byte[] bytes) {
        JsonNode json = Json.read(new String(bytes, StandardCharsets.UTF_8));
        List<String> offsets = new ArrayList<>();
        json.get("offsets").forEach(source -> offsets.add(source.asText()));
        Map<String, String> topics = new HashMap<>();
        json.get("topics").properties().forEach(t -> topics.put(t.getKey(), t.getValue().asText()));
        BatchTerms terms =
                new BatchTerms(
                        json.get("lineage").asText(),
                        json.get("batch").asLong(),
                        json.get("lanes").asInt(),
                        new SourceOffsets(offsets),
                        topics,
                        json.path("generation").asInt(0));
        JsonNode checksum = json.get("checksum");
        return new LedgerRecord(
                terms,
                json.get("rows").asLong(),
                checksum.isNull() ? null : Long.parseUnsignedLong(checksum.asText(), 16),
                TopicEnds.parse(json.path("ends")));
    }
}
