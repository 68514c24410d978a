package io.headrace.joins;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * What was declared of a join of a stream with a table. Durations are in microseconds.
 *
 * @param name what its state and metrics are called by
 * @param when when an event is answered, and by which row
 * @param missing what becomes of an event for which there is no row
 * @param key the columns of the events' key
 * @param time the column of the events' time
 * @param tableKey the columns of the table's key, in the same order
 * @param tellsMissing whether an event without a row is told at all
 * @param grace how long beyond its time an event waits for its row
 * @param retention how far behind the watermark an event may be and still find its row
 * @param keepsLate whether events beyond that go on, instead of only being counted
 * @param behind by how much it follows the watermark later; -1 where events come at once
 * @param mostBytes how large a table may be that every task holds
 * @param buckets how many groups the keys are kept in, where many are kept together
 */
record LookupTerms(
        String name,
        When when,
        Missing missing,
        List<String> key,
        String time,
        List<String> tableKey,
        boolean tellsMissing,
        long grace,
        long retention,
        boolean keepsLate,
        long behind,
        long mostBytes,
        int buckets)
        implements Serializable {

    /** How many buckets there are, unless told otherwise. State is found by it. */
    private static final int BUCKETS = 4096;

    /** By the row of its time, once settled; by the one known; by the last one, found or held. */
    enum When {
        SETTLED,
        KNOWN,
        LATEST,
        BROADCAST
    }

    /** Without columns, so with a correction to come, after some waiting, or set apart. */
    enum Missing {
        NULL,
        NULL_THEN_CORRECT,
        WAIT,
        SIDE_OUTPUT
    }

    static LookupTerms parse(String json) {
        JsonNode told;
        try {
            told = new ObjectMapper().readTree(json);
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException("the terms of a join are not JSON", error);
        }
        return new LookupTerms(
                told.get("name").asText(),
                When.valueOf(word(told.get("when"))),
                Missing.valueOf(word(told.get("missing"))),
                texts(told.get("key")),
                told.path("time").asText(null),
                texts(told.get("table_key")),
                told.get("tells_missing").asBoolean(),
                told.get("grace_us").asLong(),
                told.get("retention_us").asLong(),
                told.get("keep_late").asBoolean(),
                told.get("behind_us").asLong(-1),
                told.path("most_bytes").asLong(0),
                told.path("buckets").asInt(BUCKETS));
    }

    /** Whether events without a row are kept for some time, as one may come. */
    boolean waitsForRows() {
        return when == When.KNOWN
                && (missing == Missing.WAIT || missing == Missing.NULL_THEN_CORRECT);
    }

    /** How long after its time an event may wait. */
    long hold() {
        return waitsForRows() ? grace : 0;
    }

    private static String word(JsonNode told) {
        return told.asText().toUpperCase().replace('-', '_');
    }

    private static List<String> texts(JsonNode list) {
        List<String> found = new ArrayList<>();
        list.forEach(element -> found.add(element.asText()));
        return found;
    }
}
