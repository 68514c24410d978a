package io.headrace.windows;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * What was declared of a window step. Durations are in microseconds; 0 where there is none.
 *
 * @param kind which windows: tumbling, staggered, hopping, assigned, sessions, everything, counted,
 *     sliding
 * @param size how long a window is
 * @param every how far apart windows begin
 * @param offset how far after the epoch the first one begins
 * @param gap how long a session waits for its next event
 * @param count how many events fill a window
 * @param time the column of the event time, or null
 * @param names the columns that the aggregates give; with {@code having}, one more that tells
 *     whether a pane is wanted
 * @param earlyEvents after how many events an early pane fires, or 0
 * @param earlyTime after how much time an early pane fires, or 0
 * @param allowed how long after its end a window is corrected
 * @param keepsLate whether late events go on, instead of only being counted
 * @param spread over how many parts a key's events are spread, each with a state of its own; or 0
 * @param buckets over how many buckets the keys are spread of windows that are kept so
 * @param behind by how much it follows the watermark later, as its events come from a step that tells
 *     them so much later; -1 where they come at once
 */
record WindowTerms(
        String name,
        String kind,
        long size,
        long every,
        long offset,
        long gap,
        long count,
        String start,
        String end,
        List<String> by,
        String time,
        List<String> names,
        List<String> aggregates,
        boolean having,
        long earlyEvents,
        long earlyTime,
        Panes panes,
        long allowed,
        boolean keepsLate,
        int spread,
        int buckets,
        long behind)
        implements Serializable {

    private static final String HAVING = "_having";

    /** What a pane holds of its window, and whether an earlier one is taken back. */
    enum Panes {
        ACCUMULATING,
        DISCARDING,
        RETRACTING
    }

    static WindowTerms parse(String json) {
        JsonNode told;
        try {
            told = new ObjectMapper().readTree(json);
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException("the terms of a window are not JSON", error);
        }
        boolean having = told.path("having").asBoolean();
        List<String> names = texts(told.get("names"));
        List<String> aggregates = texts(told.get("aggregates"));
        if (names.size() < aggregates.size()) {
            names.add(HAVING);
        }
        return new WindowTerms(
                told.get("name").asText(),
                told.get("kind").asText(),
                told.path("size_us").asLong(),
                told.path("every_us").asLong(),
                told.path("offset_us").asLong(),
                told.path("gap_us").asLong(),
                told.path("count").asLong(),
                told.path("start").asText(null),
                told.path("end").asText(null),
                texts(told.get("by")),
                told.path("time").asText(null),
                names,
                aggregates,
                having,
                told.path("early_events").asLong(),
                told.path("early_time_us").asLong(),
                Panes.valueOf(told.get("panes").asText().toUpperCase()),
                told.path("allowed_us").asLong(),
                told.path("keep_late").asBoolean(),
                told.path("spread").asInt(),
                told.path("buckets").asInt(BucketOperator.BUCKETS),
                told.path("behind_us").asLong(-1));
    }

    /** Whether events come from a step that tells them when the watermark moves. */
    boolean isBehind() {
        return behind >= 0;
    }

    /** Whether a window can fire more than its on-time pane. */
    boolean firesAgain() {
        return earlyEvents > 0 || earlyTime > 0 || allowed > 0;
    }

    /** Whether its keys are kept in buckets, and each window fires once. */
    boolean isBucketed() {
        return (isTumbling() || kind.equals("hopping")) && !firesAgain() && spread == 0;
    }

    /** Whether its keys are kept in buckets, and each window may be corrected after its end. */
    boolean isCorrected() {
        boolean isPlain = earlyEvents == 0 && earlyTime == 0 && !having && spread == 0;
        return isTumbling() && allowed > 0 && isPlain && panes == Panes.ACCUMULATING;
    }

    private boolean isTumbling() {
        return kind.equals("tumbling") || isStaggered();
    }

    /** Whether the windows of each bucket of keys begin at a moment of its own. */
    boolean isStaggered() {
        return kind.equals("staggered");
    }

    /** How far after the epoch the first window of a bucket begins. */
    long offset(int bucket) {
        return isStaggered() ? size / buckets * bucket : offset;
    }

    /** Whether the values of the last pane are needed, to take them back. */
    boolean keepsStanding() {
        boolean takesBack = panes == Panes.RETRACTING || having || kind.equals("sessions");
        return takesBack && panes != Panes.DISCARDING && firesAgain();
    }

    private static List<String> texts(JsonNode list) {
        List<String> found = new ArrayList<>();
        list.forEach(element -> found.add(element.asText()));
        return found;
    }
}
