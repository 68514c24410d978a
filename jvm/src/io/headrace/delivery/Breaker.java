package io.headrace.delivery;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/**
 * Keeps the tasks of a JVM from calling a server that has just not answered.
 *
 * <p>After a failure all calls fail at once with what it said, for a time that grows; then one is
 * let through, and its success lets all others follow.
 */
public final class Breaker {
    private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(3);

    private static final Map<String, Breaker> KNOWN = new ConcurrentHashMap<>();

    private Exception failure;
    private long closedUntil;
    private long pauseNanos;

    private Breaker() {}

    /** The breaker of a server, for this JVM. */
    public static Breaker of(String server) {
        return KNOWN.computeIfAbsent(server, name -> new Breaker());
    }

    /** A call that needs the server. */
    public interface Call<T, E extends Exception> {
        T run() throws E;
    }

    /**
     * Calls the server, or fails as the call before this one did.
     *
     * @param isAway whether a failure says that the server does not answer
     * @throws E what the call says, now or shortly before
     */
    public <T, E extends Exception> T guarded(Call<T, E> call, Predicate<Exception> isAway)
            throws E {
        this.<E>requireOpen();
        try {
            T result = call.run();
            answered();
            return result;
        } catch (Exception problem) {
            if (isAway.test(problem)) {
                failed(problem);
            } else {
                answered();
            }
            throw problem;
        }
    }

    private synchronized <E extends Exception> void requireOpen() throws E {
        if (failure == null) {
            return;
        }
        long now = System.nanoTime();
        if (now - closedUntil < 0) {
            @SuppressWarnings("unchecked")
            E known = (E) failure;
            throw known;
        }
        // This one probes; the others wait for what it says.
        closedUntil = now + pauseNanos;
    }

    private synchronized void answered() {
        failure = null;
        pauseNanos = 0;
    }

    private synchronized void failed(Exception problem) {
        failure = problem;
        pauseNanos =
                Math.min(
                        Math.max(2 * pauseNanos, FIRST_PAUSE.toNanos()), LONGEST_PAUSE.toNanos());
        closedUntil = System.nanoTime() + pauseNanos;
    }
}
