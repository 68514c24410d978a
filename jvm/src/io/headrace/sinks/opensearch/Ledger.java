package io.headrace.sinks.opensearch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.Refusal;
import io.headrace.sinks.ServerCalls;
import io.headrace.sinks.Records;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/**
 * The ledger of a sink: one document, with an owner, an epoch and a record for each lane.
 *
 * <p>It is changed by comparing and setting: OpenSearch takes a new one only if nobody has changed
 * it since it was read. One document, so that all lanes can be changed at once.
 */
final class Ledger {
    static final String INDEX = "headrace-ledger";

    /** Lanes that end at once may collide, each time one of them less. */
    private static final int COLLISIONS = 200;

    private static final long LONGEST_PAUSE = 20_000_000;

    private static final String LANES = "lanes";
    private static final String OWNER = "owner";
    private static final String EPOCH = "epoch";
    private static final String RECORD = "record";

    private final OpenSearchTerms terms;
    private final Client client;
    private final ServerCalls calls;
    private final String path;

    Ledger(OpenSearchTerms terms, Client client, ServerCalls calls) {
        this.terms = terms;
        this.client = client;
        this.calls = calls;
        this.path = URLEncoder.encode(terms.ledger(), StandardCharsets.UTF_8);
    }

    /** Makes the index of all ledgers, if it is not there. */
    void prepare() {
        ObjectNode wanted = Json.object();
        wanted.putObject("settings").put("number_of_shards", 1).put("auto_expand_replicas", "0-1");
        // The records are read by their id alone.
        wanted.putObject("mappings").put("dynamic", false);
        Answer made = calls.until(() -> client.ask("PUT", "/" + INDEX, wanted));
        if (!made.isFine() && !made.type().equals("resource_already_exists_exception")) {
            throw refused(made);
        }
    }

    /** Makes a token the owner of a lane; gives the lane's last record, or null. */
    LedgerRecord claim(int lane, String token) {
        ObjectNode document =
                changed(
                        found -> {
                            ObjectNode own = lane(found, lane);
                            own.put(OWNER, token).put(EPOCH, own.path(EPOCH).asLong() + 1);
                            return true;
                        });
        return record(lane(document, lane));
    }

    /**
     * Writes a lane's record.
     *
     * @throws Refusal {@code writer-fenced} if the token is not the owner's
     */
    void commit(int lane, String token, LedgerRecord record) {
        JsonNode text = Records.json(record);
        changed(
                document -> {
                    requireOwner(document, lane, token);
                    ObjectNode own = lane(document, lane);
                    // It is there if the answer to an earlier attempt was lost.
                    boolean isNew = !text.equals(own.get(RECORD));
                    own.set(RECORD, text);
                    return isNew;
                });
    }

    /**
     * Looks once whether a lane is still its owner's.
     *
     * @throws Refusal {@code writer-fenced} if it is not
     */
    void requireOwner(int lane, String token) {
        requireOwner(read().document(), lane, token);
    }

    Map<Integer, LedgerRecord> records() {
        return records(calls.until(this::read).document());
    }

    /** Puts other records in the place of all, and leaves no lane an owner. */
    void exchange(Map<Integer, LedgerRecord> seen, Map<Integer, LedgerRecord> next) {
        changed(
                document -> {
                    if (!Records.json(records(document)).equals(Records.json(seen))) {
                        throw Refusal.of(
                                "writer-fenced",
                                "the ledger of sink \"" + terms.sink() + "\" has changed meanwhile",
                                "another driver writes into the sink.",
                                "find the other driver; stop it before you start this one again.");
                    }
                    for (JsonNode lane : document.path(LANES)) {
                        ((ObjectNode) lane).remove(RECORD);
                        ((ObjectNode) lane).remove(OWNER);
                    }
                    Records.json(next)
                            .forEach((lane, record) -> lane(document, lane).set(RECORD, record));
                    return true;
                });
    }

    private record Seen(ObjectNode document, long number, long term) {}

    private Seen read() {
        Answer found = client.ask("GET", "/" + INDEX + "/_doc/" + path, null);
        if (found.isMissing()) {
            return new Seen(Json.object(), -1, -1);
        }
        if (!found.isFine()) {
            throw refused(found);
        }
        JsonNode body = found.body();
        return new Seen(
                (ObjectNode) body.get("_source"),
                body.get("_seq_no").asLong(),
                body.get("_primary_term").asLong());
    }

    /** Changes the document, again and again until nobody comes between; gives it. */
    private ObjectNode changed(Predicate<ObjectNode> change) {
        for (int attempt = 0; attempt < COLLISIONS; attempt++) {
            ObjectNode written =
                    calls.until(
                            () -> {
                                Seen seen = read();
                                boolean isDone =
                                        !change.test(seen.document())
                                                || write(seen.document(), seen);
                                return isDone ? seen.document() : null;
                            });
            if (written != null) {
                return written;
            }
            LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(LONGEST_PAUSE));
        }
        throw Refusal.passing(
                null,
                "sink-unreachable",
                "sink \"" + terms.sink() + "\" does not get at its ledger",
                "others change it all the time.",
                "find the other driver; stop it before you start this one again.");
    }

    private boolean write(ObjectNode document, Seen seen) {
        String how =
                seen.number() < 0
                        ? "/_create/" + path
                        : "/_doc/" + path + "?if_seq_no=" + seen.number() + "&if_primary_term="
                                + seen.term();
        Answer answer = client.ask("PUT", "/" + INDEX + how, document);
        if (!answer.isFine() && !answer.isConflict()) {
            throw refused(answer);
        }
        return answer.isFine();
    }

    private void requireOwner(ObjectNode document, int lane, String token) {
        JsonNode owner = document.path(LANES).path(Integer.toString(lane)).path(OWNER);
        if (token.equals(owner.asText())) {
            return;
        }
        if (document.isEmpty()) {
            throw Refusal.of(
                    "ledger-missing",
                    "the ledger of sink \"" + terms.sink() + "\" was lost while a batch was "
                            + "written",
                    "index " + INDEX + " was deleted, or restored from an older copy.",
                    "start again: what the ledger then ends with decides. If documents were lost "
                            + "with it, rebuild the sink: delete its index and begin with a new "
                            + "checkpoint.");
        }
        throw Refusal.of(
                "writer-fenced",
                "this writer was fenced: another one has taken over sink \"" + terms.sink() + "\"",
                "only the newest holder of a lane may write; what this one has sent since is "
                        + "older, and was not taken.",
                "find the other driver; stop it before you start this one again.");
    }

    private static Map<Integer, LedgerRecord> records(ObjectNode document) {
        Map<Integer, LedgerRecord> found = new TreeMap<>();
        for (Map.Entry<String, JsonNode> lane : document.path(LANES).properties()) {
            LedgerRecord record = record(lane.getValue());
            if (record != null) {
                found.put(Integer.parseInt(lane.getKey()), record);
            }
        }
        return found;
    }

    private static LedgerRecord record(JsonNode lane) {
        JsonNode record = lane.path(RECORD);
        return record.isMissingNode()
                ? null
                : LedgerRecord.parse(record.toString().getBytes(StandardCharsets.UTF_8));
    }

    private static ObjectNode lane(ObjectNode document, int number) {
        ObjectNode lanes = part(document, LANES);
        return part(lanes, Integer.toString(number));
    }

    private static ObjectNode part(ObjectNode whole, String name) {
        JsonNode found = whole.get(name);
        return found == null ? whole.putObject(name) : (ObjectNode) found;
    }

    private Refusal refused(Answer answer) {
        return Refusal.of(
                "sink-mismatch",
                "OpenSearch does not keep the ledger of sink \"" + terms.sink() + "\"",
                "it says: " + answer.status() + " " + answer.reason(),
                "let the account make and write index " + INDEX + ", or mend what the detail "
                        + "names.");
    }
}
