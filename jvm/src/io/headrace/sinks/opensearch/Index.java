package io.headrace.sinks.opensearch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.headrace.delivery.Refusal;
import io.headrace.sinks.ServerCalls;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The index that a sink writes to, behind its alias: made if it is missing, checked if not. */
final class Index {
    /**
     * How long OpenSearch remembers the versions of deleted documents.
     *
     * <p>Far longer than a request can be on its way, after the lane was last seen to be held by
     * its sender; and each deletion costs some memory meanwhile.
     */
    static final Duration DELETES_REMEMBERED = Duration.ofMinutes(10);

    private static final String GC_DELETES = "index.gc_deletes";
    private static final Pattern TIME = Pattern.compile("(\\d{1,9})([smhd])");
    private static final Map<String, Long> SECONDS =
            Map.of("s", 1L, "m", 60L, "h", 3_600L, "d", 86_400L);

    private final OpenSearchTerms terms;
    private final Client client;
    private final ServerCalls calls;
    private final String alias;
    private final ObjectNode mapping;

    Index(OpenSearchTerms terms, Client client, ServerCalls calls) {
        this.terms = terms;
        this.client = client;
        this.calls = calls;
        this.alias = terms.alias();
        this.mapping = Columns.mapping(terms);
    }

    /**
     * Makes the index, or fits an existing one to the columns.
     *
     * @throws Refusal {@code sink-mismatch} if it does not fit
     */
    void prepare() {
        makeTemplate();
        JsonNode behind = behindAlias();
        if (behind == null) {
            make();
            return;
        }
        if (behind.size() != 1) {
            throw unfit(
                    "stands for " + behind.size() + " indexes",
                    "a key's document would be replaced in one, and stay in another.",
                    "let the alias point at one index.");
        }
        addMissingFields();
        rememberDeletes();
    }

    /** The id of the index behind the alias; it changes if the index is made anew. */
    String id() {
        JsonNode settings =
                taken(ask("GET", "/" + alias + "/_settings", null), "cannot be asked for its id");
        return first(settings).path("settings").path("index").path("uuid").asText();
    }

    private void makeTemplate() {
        ObjectNode template = Json.object();
        // Numbered as a roll-over does it. A wider pattern would catch indexes of other owners.
        template.putArray("index_patterns").add(alias + "-0*");
        template.put("priority", 200);
        template.putObject("_meta").put("headrace", terms.ledger());
        template.set("template", content());
        taken(
                ask("PUT", "/_index_template/headrace-" + alias, template),
                "does not get a template for its index");
    }

    private JsonNode behindAlias() {
        Answer found = ask("GET", "/_alias/" + alias, null);
        if (!found.isMissing()) {
            return taken(found, "cannot be asked for its index");
        }
        if (ask("HEAD", "/" + alias, null).isFine()) {
            throw unfit(
                    "is an index and not an alias",
                    "an alias lets the index behind it be exchanged for one with other mappings.",
                    "choose another name and add it to the index as an alias; or delete the "
                            + "index, and an alias of its name is made.");
        }
        return null;
    }

    private void make() {
        ObjectNode wanted = content();
        wanted.putObject("aliases").putObject(alias);
        Answer made = ask("PUT", "/" + alias + "-000001", wanted);
        if (made.type().equals("resource_already_exists_exception")) {
            throw unfit(
                    "does not exist, and index " + alias + "-000001 does",
                    "the alias was taken away from it, or it is somebody else's.",
                    "give the index its alias back, or delete it.");
        }
        taken(made, "does not get its index");
    }

    private ObjectNode content() {
        ObjectNode content = Json.object();
        content.putObject("settings")
                .put("index.number_of_shards", 1)
                .put("index.auto_expand_replicas", "0-1")
                .put(GC_DELETES, DELETES_REMEMBERED.toSeconds() + "s");
        content.set("mappings", mapping);
        return content;
    }

    private void addMissingFields() {
        JsonNode found =
                first(taken(ask("GET", "/" + alias + "/_mapping", null), "has no mapping"))
                        .path("mappings");
        ObjectNode missing = Json.object();
        Mapping.compare(mapping, found, missing)
                .ifPresent(
                        difference -> {
                            throw unfit(
                                    "has other fields than the rows",
                                    difference,
                                    "write to another index, or change the column with "
                                            + "derive(...) or cast(...).");
                        });
        if (!missing.isEmpty()) {
            taken(ask("PUT", "/" + alias + "/_mapping", missing), "does not take new fields");
        }
    }

    private void rememberDeletes() {
        JsonNode settings =
                taken(
                        ask(
                                "GET",
                                "/" + alias + "/_settings/" + GC_DELETES + "?flat_settings=true",
                                null),
                        "cannot be asked for its settings");
        String now = first(settings).path("settings").path(GC_DELETES).asText("60s");
        if (isShorter(now)) {
            ObjectNode longer =
                    Json.object().put(GC_DELETES, DELETES_REMEMBERED.toSeconds() + "s");
            taken(ask("PUT", "/" + alias + "/_settings", longer), "does not take a setting");
        }
    }

    private static boolean isShorter(String time) {
        Matcher parts = TIME.matcher(time);
        if (!parts.matches()) {
            return true;
        }
        long seconds = SECONDS.get(parts.group(2)) * Long.parseLong(parts.group(1));
        return seconds < DELETES_REMEMBERED.toSeconds();
    }

    private Answer ask(String method, String path, JsonNode body) {
        return calls.until(() -> client.ask(method, path, body));
    }

    private static JsonNode first(JsonNode byIndex) {
        Iterator<JsonNode> values = byIndex.elements();
        return values.hasNext() ? values.next() : Json.object();
    }

    private JsonNode taken(Answer answer, String what) {
        if (!answer.isFine()) {
            throw unfit(
                    what,
                    "OpenSearch says: " + answer.status() + " " + answer.reason(),
                    "mend what the detail names.");
        }
        return answer.body();
    }

    private Refusal unfit(String what, String why, String hint) {
        return Refusal.of(
                "sink-mismatch",
                "sink \"" + terms.sink() + "\" cannot write to \"" + alias + "\", which " + what,
                why,
                hint);
    }
}
