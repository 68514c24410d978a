package io.headrace.joins;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * What was declared of a join of two streams. Durations are in microseconds.
 *
 * @param name what its state and metrics are called by
 * @param kind which rows it tells
 * @param left the columns of the left key, and its time
 * @param right those of the right one, in the same order
 * @param from the least that the right time may be beyond the left one
 * @param to the most that it may be beyond
 * @param keepsLate whether late rows go on, instead of only being counted
 * @param behind by how much it follows the watermark later; -1 where its rows come straight from
 *     their sources
 */
record JoinTerms(
        String name,
        Kind kind,
        Side left,
        Side right,
        long from,
        long to,
        boolean keepsLate,
        long behind)
        implements Serializable {
    /** How wide a shelf is at least. */
    private static final long LEAST = 1_000_000;

    /** Which rows a join tells: pairs, rows without a partner, rows with one. */
    enum Kind {
        INNER,
        LEFT,
        RIGHT,
        FULL,
        SEMI,
        ANTI
    }

    /** The columns of one side's key, and of its time. */
    record Side(List<String> key, String time) implements Serializable {}

    static JoinTerms parse(String json) {
        JsonNode told;
        try {
            told = new ObjectMapper().readTree(json);
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException("the terms of a join are not JSON", error);
        }
        return new JoinTerms(
                told.get("name").asText(),
                Kind.valueOf(told.get("kind").asText().toUpperCase()),
                side(told.get("left")),
                side(told.get("right")),
                told.get("from_us").asLong(),
                told.get("to_us").asLong(),
                told.get("keep_late").asBoolean(),
                told.get("behind_us").asLong(-1));
    }

    /** Whether pairs are told, and not rows of the left alone. */
    boolean pairs() {
        return kind != Kind.SEMI && kind != Kind.ANTI;
    }

    /** Whether a row of a side is told when it has had no partner. */
    boolean tellsUnmatched(boolean isLeft) {
        return kind == Kind.FULL
                || (isLeft ? kind == Kind.LEFT || kind == Kind.ANTI : kind == Kind.RIGHT);
    }

    /** How long after a row's time a partner may come. */
    long hold(boolean isLeft) {
        return isLeft ? to : -from;
    }

    /** How much time a shelf has. */
    long width() {
        return Math.max(LEAST, (to - from) / 2);
    }

    private static Side side(JsonNode told) {
        List<String> key = new ArrayList<>();
        told.get("key").forEach(column -> key.add(column.asText()));
        return new Side(key, told.get("time").asText());
    }
}
