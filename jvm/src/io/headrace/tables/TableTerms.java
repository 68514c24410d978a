package io.headrace.tables;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * What was declared of a table.
 *
 * @param name what its state and metrics are called by
 * @param key the columns of its key
 * @param isCaptured whether a connector tells its changes, with their positions; otherwise the
 *     records of a topic are its rows
 * @param everyChange whether each change is given, and not only the net change of a batch; then its
 *     position is its turn in the batch
 * @param remembered for how long a deleted key is known to be deleted, in microseconds
 */
record TableTerms(
        String name, List<String> key, boolean isCaptured, boolean everyChange, long remembered)
        implements Serializable {
    static final long FOR_EVER = 1L << 62;

    static TableTerms parse(String json) {
        JsonNode told;
        try {
            told = new ObjectMapper().readTree(json);
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException("the terms of a table are not JSON", error);
        }
        List<String> key = new ArrayList<>();
        told.get("key").forEach(column -> key.add(column.asText()));
        return new TableTerms(
                told.get("name").asText(),
                key,
                told.get("captured").asBoolean(),
                told.path("every_change").asBoolean(),
                told.get("remembered_us").asLong());
    }
}
