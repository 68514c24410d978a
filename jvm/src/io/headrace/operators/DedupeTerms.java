package io.headrace.operators;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;

/**
 * What a dedupe is to do, as Python says it.
 *
 * @param name the step's name, which its state and metrics are called by
 * @param by the name of the id's column
 * @param time the name of the event time's column
 * @param within how far apart the same events can be, in microseconds
 * @param buckets how many groups ids are kept in; state is found by it
 * @param isBehind whether events are judged by the watermark of the batch before
 */
record DedupeTerms(
        String name, String by, String time, long within, int buckets, boolean isBehind)
        implements Serializable {

    private static final ObjectMapper JSON = new ObjectMapper();

    static DedupeTerms read(String text) {
        try {
            JsonNode told = JSON.readTree(text);
            return new DedupeTerms(
                    told.get("name").asText(),
                    told.get("by").asText(),
                    told.get("time").asText(),
                    told.get("within_us").asLong(),
                    told.get("buckets").asInt(),
                    told.get("is_behind").asBoolean());
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException(error);
        }
    }
}
