package io.headrace.sinks.opensearch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.headrace.delivery.OutgoingRow;
import io.headrace.delivery.Refusal;
import io.headrace.sinks.Away;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Rows that are sent in one request, the last one of each key.
 *
 * <p>Items fail one by one. Those that OpenSearch could not take yet are sent again, and only those.
 */
final class Bulk {
    private static final int MOST_ROWS = 5_000;
    private static final long MOST_BYTES = 5L * 1024 * 1024;

    private static final int NOT_FOUND = 404;
    private static final int CONFLICT = 409;
    private static final int TOO_LARGE = 413;
    private static final int TOO_MANY = 429;
    private static final int SERVER = 500;

    private final OpenSearchTerms terms;
    private final Map<String, OutgoingRow> waiting = new LinkedHashMap<>();
    private long bytes;

    Bulk(OpenSearchTerms terms) {
        this.terms = terms;
    }

    void add(OutgoingRow row) {
        if (row.key() == null) {
            throw refused("a row without a key", "its key column is null");
        }
        OutgoingRow before = waiting.put(DocumentId.of(row.key()), row);
        bytes += size(row) - (before == null ? 0 : size(before));
    }

    boolean isFull() {
        return waiting.size() >= MOST_ROWS || bytes >= MOST_BYTES;
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    /**
     * Sends what is waiting, once.
     *
     * @return how many rows OpenSearch held already, in this version or a newer one
     * @throws Away if some of it has to be sent again
     */
    int send(Client client) {
        return send(client, new ArrayList<>(waiting.keySet()));
    }

    private int send(Client client, List<String> ids) {
        Answer answer = client.lines(path(), body(ids));
        if (answer.status() == TOO_LARGE && ids.size() > 1) {
            int half = ids.size() / 2;
            return send(client, ids.subList(0, half))
                    + send(client, ids.subList(half, ids.size()));
        }
        if (!answer.isFine()) {
            throw refused("a request of " + ids.size() + " row(s)", answer.reason());
        }
        int held = 0;
        String later = null;
        for (int number = 0; number < ids.size(); number++) {
            JsonNode item = answer.body().path("items").path(number).elements().next();
            int status = item.path("status").asInt();
            if (status == CONFLICT) {
                held++;
            } else if (status == TOO_MANY || status >= SERVER || isBlocked(item)) {
                later = status + " " + Answer.reason(item.path("error"));
                continue;
            } else {
                requireTaken(ids.get(number), item);
            }
            waiting.remove(ids.get(number));
        }
        if (later != null) {
            throw new Away("OpenSearch says of " + waiting.size() + " row(s): " + later, null);
        }
        return held;
    }

    private String path() {
        // Only the alias may be written to: without it, OpenSearch would make an index of the name.
        return "/" + terms.alias() + "/_bulk?require_alias=true&filter_path=items.*.status,"
                + "items.*.error.type,items.*.error.reason,items.*.error.caused_by,error";
    }

    private byte[] body(List<String> ids) {
        ByteArrayOutputStream body = new ByteArrayOutputStream((int) Math.min(bytes, 1 << 28));
        for (String id : ids) {
            OutgoingRow row = waiting.get(id);
            ObjectNode action = Json.object();
            action.putObject(row.value() == null ? "delete" : "index")
                    .put("_id", id)
                    .put("version", row.version())
                    .put("version_type", "external");
            body.writeBytes(action.toString().getBytes(StandardCharsets.UTF_8));
            body.write('\n');
            if (row.value() != null) {
                body.writeBytes(row.value());
                body.write('\n');
            }
        }
        return body.toByteArray();
    }

    private void requireTaken(String id, JsonNode item) {
        JsonNode error = item.path("error");
        if (error.isMissingNode() || error.isNull()) {
            // Also a delete that found nothing: what it was to achieve is so.
            return;
        }
        if (item.path("status").asInt() == NOT_FOUND) {
            throw Refusal.of(
                    "sink-mismatch",
                    "the index behind \"" + terms.alias() + "\" is gone",
                    Answer.reason(error) + ".",
                    "find out who deleted it. To write it anew from the beginning, start the "
                            + "pipeline with a new checkpoint.");
        }
        throw refused("the row of key \"" + id + "\"", Answer.reason(error));
    }

    private static boolean isBlocked(JsonNode item) {
        return item.path("error").path("type").asText("").equals("cluster_block_exception");
    }

    private Refusal refused(String which, String why) {
        return Refusal.of(
                "row-refused",
                "sink \"" + terms.sink() + "\" cannot take " + which,
                why + ".",
                "change the index's mapping or limit that the detail names, or the step that "
                        + "makes the row; the batch is repeated and nothing is lost.");
    }

    private static long size(OutgoingRow row) {
        return 100 + row.key().length + (row.value() == null ? 0 : row.value().length);
    }
}
