package io.headrace.sinks.opensearch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Compares the mapping that an index has with the one that the rows need. */
final class Mapping {
    private static final String PROPERTIES = "properties";

    /** What a field may be instead of what we would make it, and hold every value all the same. */
    private static final Map<String, Set<String>> ALSO =
            Map.of(
                    "keyword", Set.of("text", "wildcard", "match_only_text"),
                    "text", Set.of("keyword", "match_only_text"),
                    "scaled_float", Set.of("double"),
                    "object", Set.of("flat_object"));

    private Mapping() {}

    /**
     * Finds a field that the index has and cannot hold the rows' values.
     *
     * @param wanted the mapping that the rows need
     * @param found the index's
     * @param missing is given the fields that the index lacks, as a mapping
     */
    static Optional<String> compare(JsonNode wanted, JsonNode found, ObjectNode missing) {
        return compare(wanted, found, missing, "");
    }

    private static Optional<String> compare(
            JsonNode wanted, JsonNode found, ObjectNode missing, String path) {
        for (Map.Entry<String, JsonNode> field : wanted.path(PROPERTIES).properties()) {
            String name = path + field.getKey();
            JsonNode there = found.path(PROPERTIES).get(field.getKey());
            if (there == null) {
                part(missing, PROPERTIES).set(field.getKey(), field.getValue());
                continue;
            }
            String mine = type(field.getValue());
            String theirs = type(there);
            if (!mine.equals(theirs) && !ALSO.getOrDefault(mine, Set.of()).contains(theirs)) {
                return Optional.of(
                        "field \"" + name + "\" is " + theirs + ", and the column is " + mine
                                + ".");
            }
            if (theirs.equals("object") || theirs.equals("nested")) {
                ObjectNode below = Json.object();
                Optional<String> difference = compare(field.getValue(), there, below, name + ".");
                if (difference.isPresent()) {
                    return difference;
                }
                if (!below.isEmpty()) {
                    if (theirs.equals("nested")) {
                        below.put("type", theirs);
                    }
                    part(missing, PROPERTIES).set(field.getKey(), below);
                }
            }
        }
        return Optional.empty();
    }

    private static String type(JsonNode field) {
        return field.path("type").asText("object");
    }

    private static ObjectNode part(ObjectNode whole, String name) {
        JsonNode found = whole.get(name);
        return found == null ? whole.putObject(name) : (ObjectNode) found;
    }
}
