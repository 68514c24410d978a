package io.headrace.delivery;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A named place in the protocol where a test lets the process die, as by {@code kill -9}.
 *
 * <p>{@code HEADRACE_FAILPOINT=name:n} means the n-th time the place is reached; {@code
 * name:n:stop} stops the process there instead of killing it. Without the variable, reaching a
 * place costs one comparison.
 */
final class Failpoint {
    private static final Failpoint SET = parse(System.getenv("HEADRACE_FAILPOINT"));

    private static final int KILLED = 137;
    private static final long LONGEST_DOUBT_NANOS = 4_000_000;

    private final String name;
    private final int at;
    private final boolean stops;
    private final AtomicInteger reached = new AtomicInteger();

    private Failpoint(String name, int at, boolean stops) {
        this.name = name;
        this.at = at;
        this.stops = stops;
    }

    private static Failpoint parse(String text) {
        if (text == null || text.isEmpty()) {
            return null;
        }
        String[] parts = text.split(":");
        int at = parts.length > 1 ? Integer.parseInt(parts[1]) : 1;
        return new Failpoint(parts[0], at, parts.length > 2 && parts[2].equals("stop"));
    }

    /** Whether a test waits for this place. */
    static boolean watches(String place) {
        return SET != null && SET.name.equals(place);
    }

    /** Ends the process here, if a test asked for it. */
    static void reach(String place) {
        if (watches(place) && SET.reached.incrementAndGet() == SET.at) {
            SET.strike();
        }
    }

    /** Ends the process during what the calling thread does next, if a test asked for it. */
    static void reachDuring(String place) {
        if (watches(place) && SET.reached.incrementAndGet() == SET.at) {
            Thread other =
                    new Thread(
                            () -> {
                                // Sometimes before the broker has taken it, sometimes after.
                                LockSupport.parkNanos(
                                        ThreadLocalRandom.current().nextLong(LONGEST_DOUBT_NANOS));
                                SET.strike();
                            });
            other.setDaemon(true);
            other.start();
        }
    }

    private void strike() {
        if (stops) {
            stop();
            return;
        }
        // In the driver the parent is the Python process, which would outlive its JVM and run its
        // own clean-up. An executor's parent is somebody else's.
        ProcessHandle.current()
                .parent()
                .filter(parent -> parent.info().command().orElse("").contains("python"))
                .ifPresent(ProcessHandle::destroyForcibly);
        Runtime.getRuntime().halt(KILLED);
    }

    private void stop() {
        String self = Long.toString(ProcessHandle.current().pid());
        try {
            new ProcessBuilder("kill", "-STOP", self).start().waitFor();
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
