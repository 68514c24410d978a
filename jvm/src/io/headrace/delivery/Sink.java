package io.headrace.delivery;

import java.io.Serializable;
import java.util.Map;

/**
 * A sink as the rows name it by its place in the list.
 *
 * @param name the output's name
 * @param system what it writes to, such as {@code kafka}
 * @param settings what the system's own classes read
 */
record Sink(String name, String system, Map<String, String> settings) implements Serializable {
    static final String KAFKA = "kafka";

    boolean isTopic() {
        return system.equals(KAFKA);
    }

    /** Whether its records tell their batch, and the ledger where they end: for those who follow. */
    boolean isStamped() {
        return isTopic() && Boolean.parseBoolean(settings.get("stamped"));
    }

    /** The topic, where it is one. */
    String topic() {
        return settings.get("topic");
    }
}
