package io.headrace.sinks.opensearch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;

/** JSON as OpenSearch speaks it. */
final class Json {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Json() {}

    static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    static JsonNode read(String text) {
        try {
            return MAPPER.readTree(text);
        } catch (IOException problem) {
            throw new IllegalArgumentException("not JSON: " + text, problem);
        }
    }

    /** What a server has answered; one that is no JSON, such as a proxy's page, is empty. */
    static JsonNode answer(byte[] bytes) {
        try {
            return MAPPER.readTree(bytes);
        } catch (IOException problem) {
            return object();
        }
    }
}
