package io.headrace.sinks;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Keeps the lanes of this JVM from asking a server that is away, all of them, all the time.
 *
 * <p>After some failures in a row, whoever they came from, one caller at a time may try, at
 * intervals. The first that succeeds opens the way for all.
 */
final class Breaker {
    private static final Map<String, Breaker> BY_SERVER = new ConcurrentHashMap<>();
    private static final int FAILURES = 3;
    private static final long BETWEEN_PROBES = Duration.ofMillis(500).toNanos();

    private int failures;
    private long probedAt;
    private Away last;

    private Breaker() {}

    static Breaker of(String server) {
        return BY_SERVER.computeIfAbsent(server, name -> new Breaker());
    }

    /**
     * Asks whether to try.
     *
     * @return null, or the failure that the caller may take for its own
     */
    synchronized Away forbids() {
        if (failures < FAILURES) {
            return null;
        }
        long now = System.nanoTime();
        if (now - probedAt < BETWEEN_PROBES) {
            return last;
        }
        probedAt = now;
        return null;
    }

    synchronized void answered() {
        failures = 0;
    }

    synchronized void failed(Away problem) {
        failures++;
        probedAt = System.nanoTime();
        last = problem;
    }
}
