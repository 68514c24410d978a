package io.headrace.sinks.opensearch;

import com.fasterxml.jackson.databind.JsonNode;

/** What OpenSearch has answered. */
record Answer(int status, JsonNode body) {
    private static final int NOT_FOUND = 404;
    private static final int CONFLICT = 409;

    boolean isFine() {
        return status / 100 == 2;
    }

    boolean isMissing() {
        return status == NOT_FOUND;
    }

    /** Whether something newer is there. */
    boolean isConflict() {
        return status == CONFLICT;
    }

    /** The kind of error, such as {@code resource_already_exists_exception}; empty if none. */
    String type() {
        return body.path("error").path("type").asText("");
    }

    /** What is wrong, in OpenSearch's own words. */
    String reason() {
        return reason(body.path("error"));
    }

    /** What is wrong with one item of many; the innermost cause says it best. */
    static String reason(JsonNode error) {
        if (error.isTextual()) {
            return error.asText();
        }
        String reason = error.path("reason").asText("");
        for (JsonNode at = error.path("caused_by"); at.isObject(); at = at.path("caused_by")) {
            reason += ": " + at.path("reason").asText("");
        }
        return reason;
    }
}
