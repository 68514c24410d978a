package io.headrace.formats;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * A schema as the registry holds it.
 *
 * @param type the registry's word for the format: {@code AVRO}, {@code JSON}, {@code PROTOBUF}
 * @param text the schema in that format
 * @param references whether it stands on other schemas of the registry
 */
record RegisteredSchema(String type, String text, boolean references) {
    static RegisteredSchema of(JsonNode answer) {
        return new RegisteredSchema(
                // The registry leaves the word out for the oldest of its formats.
                answer.path("schemaType").asText("AVRO"),
                answer.path("schema").asText(),
                !answer.path("references").isEmpty());
    }

    /** Refuses a value whose schema is of another format than the topic's. */
    RegisteredSchema require(String wanted) throws Unreadable {
        if (!type.equals(wanted)) {
            throw new Unreadable(
                    Reason.SCHEMA_NOT_COMPATIBLE,
                    "the schema in its header is of type " + type + ", not " + wanted);
        }
        return this;
    }
}
