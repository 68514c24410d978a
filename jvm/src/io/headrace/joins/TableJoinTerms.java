package io.headrace.joins;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * What was declared of a join of two tables.
 *
 * @param name what its state and metrics are called by
 * @param kind which rows the result has: those with both sides, with a left one, or with either
 * @param leftOn the columns of the left by which a row of the right is found
 * @param rightOn the key of the right, in the same order
 * @param leftKey the key of the left, which is that of the result
 */
record TableJoinTerms(
        String name, Kind kind, List<String> leftOn, List<String> rightOn, List<String> leftKey)
        implements Serializable {

    /** Which rows the result has. */
    enum Kind {
        INNER,
        LEFT,
        FULL
    }

    static TableJoinTerms parse(String json) {
        JsonNode told;
        try {
            told = new ObjectMapper().readTree(json);
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException("the terms of a join are not JSON", error);
        }
        return new TableJoinTerms(
                told.get("name").asText(),
                Kind.valueOf(told.get("kind").asText().toUpperCase()),
                texts(told.get("left_on")),
                texts(told.get("right_on")),
                texts(told.get("left_key")));
    }

    /** Whether a row of the result is where its left row is found by its own key. */
    boolean isByKey() {
        return leftOn.size() == leftKey.size() && leftOn.containsAll(leftKey);
    }

    /** Whether the result has a row made of these two, either of which may be absent. */
    boolean hasRow(byte[] left, byte[] right) {
        switch (kind) {
            case INNER:
                return left != null && right != null;
            case LEFT:
                return left != null;
            default:
                return left != null || right != null;
        }
    }

    private static List<String> texts(JsonNode list) {
        List<String> found = new ArrayList<>();
        list.forEach(element -> found.add(element.asText()));
        return found;
    }
}
