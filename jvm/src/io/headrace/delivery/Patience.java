package io.headrace.delivery;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tries again what a server that is away has failed, with growing pauses, for so long. */
final class Patience {
    private static final Logger LOG = LoggerFactory.getLogger(Patience.class);
    private static final Duration FIRST_PAUSE = Duration.ofMillis(200);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

    private final Duration most;

    Patience(Duration most) {
        this.most = most;
    }

    /**
     * Does it until it succeeds.
     *
     * @throws Refusal that no further attempt would change; or the last one that would have passed,
     *     when the patience has come to its end
     */
    <T> T tried(Supplier<T> work) {
        long pauseNanos = FIRST_PAUSE.toNanos();
        Long failedAt = null;
        while (true) {
            try {
                return work.get();
            } catch (Refusal refusal) {
                long now = System.nanoTime();
                failedAt = failedAt == null ? now : failedAt;
                // Not all lanes and sinks that wait for one server should come back at once.
                long pause = ThreadLocalRandom.current().nextLong(pauseNanos / 2, pauseNanos);
                if (refusal.isFinal() || now + pause - failedAt > most.toNanos()) {
                    throw refusal;
                }
                LOG.warn("{}; trying again", refusal.getMessage());
                pause(pause);
                pauseNanos = Math.min(2 * pauseNanos, LONGEST_PAUSE.toNanos());
            }
        }
    }

    private static void pause(long nanos) {
        try {
            TimeUnit.NANOSECONDS.sleep(nanos);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("stopped while a sink was away", interrupted);
        }
    }
}
