package io.headrace.sinks.lake;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.headrace.delivery.LedgerRecord;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Which files a batch has written, and the batch's record: both are there when the manifest is.
 *
 * @param layout what all manifests of a directory must agree on
 * @param attempt with which the names of the files begin; null in a claim, which has none
 * @param files their paths below the directory
 * @param record the batch; null if a directory was claimed before its first batch
 */
record Manifest(Layout layout, String attempt, List<String> files, LedgerRecord record) {
    private static final ObjectMapper JSON = new ObjectMapper();

    /**
     * How files lie in a directory, and whose they are.
     *
     * @param sink whose directory it is
     * @param format of the files
     * @param partitions the columns by which they lie in directories
     * @param schema all columns that any file has, as Spark writes a schema in JSON
     */
    record Layout(String sink, String format, List<String> partitions, String schema) {}

    byte[] toBytes() throws IOException {
        ObjectNode json =
                JSON.createObjectNode()
                        .put("sink", layout.sink())
                        .put("format", layout.format())
                        .put("attempt", attempt);
        json.set("partition_by", JSON.valueToTree(layout.partitions()));
        json.set("schema", JSON.readTree(layout.schema()));
        json.set("record", record == null ? null : JSON.readTree(record.toBytes()));
        json.set("files", JSON.valueToTree(files));
        return JSON.writerWithDefaultPrettyPrinter().writeValueAsBytes(json);
    }

    static Manifest parse(byte[] bytes) throws IOException {
        JsonNode json = JSON.readTree(bytes);
        Layout layout =
                new Layout(
                        json.get("sink").asText(),
                        json.get("format").asText(),
                        texts(json.get("partition_by")),
                        json.get("schema").toString());
        JsonNode attempt = json.get("attempt");
        JsonNode record = json.get("record");
        return new Manifest(
                layout,
                attempt.isNull() ? null : attempt.asText(),
                texts(json.get("files")),
                record.isNull()
                        ? null
                        : LedgerRecord.parse(record.toString().getBytes(StandardCharsets.UTF_8)));
    }

    private static List<String> texts(JsonNode list) {
        List<String> texts = new ArrayList<>();
        list.forEach(text -> texts.add(text.asText()));
        return texts;
    }
}
