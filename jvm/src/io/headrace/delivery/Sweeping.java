package io.headrace.delivery;

import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Looks now and then for what a JVM keeps open and nobody uses any more. */
final class Sweeping {
    /** How long a client may be kept without use. */
    static final Duration LONG_REST = Duration.ofHours(1);

    private static final Logger LOG = LoggerFactory.getLogger(Sweeping.class);
    private static final Duration EVERY = Duration.ofMinutes(10);

    /** In a thread that keeps no JVM alive. */
    private static final ScheduledExecutorService CLOCK =
            Executors.newSingleThreadScheduledExecutor(
                    work -> {
                        Thread thread = new Thread(work, "headrace-sweeping");
                        thread.setDaemon(true);
                        return thread;
                    });

    private Sweeping() {}

    static void start(Runnable sweep) {
        Runnable safely =
                () -> {
                    try {
                        sweep.run();
                    } catch (RuntimeException problem) {
                        // Thrown on, it would end all further sweeping.
                        LOG.warn("a client could not be closed", problem);
                    }
                };
        CLOCK.scheduleWithFixedDelay(
                safely, EVERY.toMillis(), EVERY.toMillis(), TimeUnit.MILLISECONDS);
    }
}
