package io.headrace.clock;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;

/** How one source's watermark is decided, as Python says it. */
final class ClockSettings {
    private final JsonNode given;

    ClockSettings(String json) {
        given = Json.read(json);
    }

    /** What the clock is called: its topic, and a number if several read it. */
    String name() {
        return given.path("name").asText();
    }

    /** The topic that it watches. */
    String topic() {
        return given.path("topic").asText();
    }

    /** The column of the event time. */
    String time() {
        return given.path("time").asText();
    }

    /** Whether Spark decides by itself, and the clock speaks at a start alone. */
    boolean isLagging() {
        return isKind("lagging");
    }

    /** Whether the delay follows the events. */
    boolean isObserved() {
        return isKind("observed");
    }

    /** Whether the watermark is the wall clock. */
    boolean isArrival() {
        return isKind("arrival");
    }

    /** How to ask the brokers for the log's end; empty if it is not looked at. */
    Map<String, Object> client() {
        Map<String, Object> found = new HashMap<>();
        given.path("client").properties().forEach(e -> found.put(e.getKey(), e.getValue().asText()));
        return found;
    }

    /** How far the watermark stays behind the events. */
    long lagMicros() {
        return given.path("lag_us").asLong();
    }

    /** How long a silent partition holds the watermark; null for ever. */
    Long idleMs() {
        return number("idle_ms");
    }

    /** The share of events that an observed delay covers. */
    double percentile() {
        return given.path("percentile").asDouble();
    }

    /** The shortest observed delay. */
    long atLeastMs() {
        return given.path("at_least_ms").asLong();
    }

    /** The longest observed delay. */
    long atMostMs() {
        return given.path("at_most_ms").asLong(Long.MAX_VALUE);
    }

    /** In which steps the wall clock's watermark moves. */
    long everyMs() {
        return given.path("every_ms").asLong(1);
    }

    /** Which clocks belong to one query. */
    String group() {
        return given.path("group").asText();
    }

    /** Whether the query has no other clock. */
    boolean isAlone() {
        return given.path("alone").asBoolean(true);
    }

    /** What the wall clock shows in a test; null for the real one. */
    Long nowMs() {
        return number("now_ms");
    }

    /** Where a test has moved the watermark; 0 for nowhere. */
    long floorMs() {
        return given.path("floor_ms").asLong();
    }

    private boolean isKind(String kind) {
        return given.path("kind").asText().equals(kind);
    }

    private Long number(String name) {
        JsonNode found = given.path(name);
        return found.isNumber() ? found.asLong() : null;
    }
}
