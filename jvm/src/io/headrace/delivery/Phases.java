package io.headrace.delivery;

import java.util.LinkedHashMap;
import java.util.Map;

/** Measures how long each phase of a lane's work takes. */
final class Phases {
    private final Map<String, Double> millis = new LinkedHashMap<>();
    private long since = System.nanoTime();

    /** Ends a phase: the time since the one before belongs to it. */
    void end(String phase) {
        long now = System.nanoTime();
        millis.merge(phase, (now - since) / 1e6, Double::sum);
        since = now;
    }

    Map<String, Double> millis() {
        return millis;
    }
}
