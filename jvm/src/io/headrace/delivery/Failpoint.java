package io.headrace.delivery;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A named place in the protocol where a test lets the process die, as by {@code kill -9}.
 *
 * <p>Places in the delivery into a sink other than Kafka are reached under two names, the plain one
 * and one with the system before it, such as {@code postgres.committed}.
 *
 * <p>{@code HEADRACE_FAILPOINT=name:n} means the n-th time the place is reached. {@code
 * name:n:stop} stops the process there instead of killing it; {@code name:n:/a/file} makes the
 * file and holds only the thread, until the file is gone. Several are separated by commas. With
 * {@code HEADRACE_FAILPOINT=within} places are set run by run, and the JVM survives: see {@link
 * Crash}. Without the variable, reaching a place costs one look into an empty map.
 */
public final class Failpoint {
    private static volatile Map<String, Failpoint> places =
            parse(System.getenv("HEADRACE_FAILPOINT"), "kill");

    private static final int KILLED = 137;
    private static final long LONGEST_DOUBT_NANOS = 4_000_000;
    private static final long PAUSE_NANOS = 10_000_000;

    private final int at;

    /** What happens: kill, stop, crash, or the file that holds the thread. */
    private final String act;

    private final AtomicInteger reached = new AtomicInteger();

    private Failpoint(int at, String act) {
        this.at = at;
        this.act = act;
    }

    /** Sets the places at which a run crashes; it then passes by no other. */
    static void set(String text) {
        places = parse(text, "crash");
    }

    private static Map<String, Failpoint> parse(String text, String usual) {
        Map<String, Failpoint> found = new HashMap<>();
        for (String one : text == null || text.isEmpty() ? new String[0] : text.split(",")) {
            String[] parts = one.split(":");
            int at = parts.length > 1 ? Integer.parseInt(parts[1]) : 1;
            found.put(parts[0], new Failpoint(at, parts.length > 2 ? parts[2] : usual));
        }
        return found;
    }

    /** Whether a test waits for this place. */
    static boolean watches(String place) {
        return places.containsKey(place);
    }

    /** Ends the process here, if a test asked for it. */
    static void reach(String place) {
        Failpoint here = find(place);
        if (here != null && here.isReached()) {
            here.strike();
        }
    }

    /** Ends the process here, at this place of all systems or of this one. */
    public static void reach(String system, String place) {
        if (!places.isEmpty()) {
            reach(place);
            reach(system + "." + place);
        }
    }

    /** Ends the process during what the calling thread does next, in the same way. */
    public static void reachDuring(String system, String place) {
        if (!places.isEmpty()) {
            reachDuring(place);
            reachDuring(system + "." + place);
        }
    }

    /** Ends the process during what the calling thread does next, if a test asked for it. */
    static void reachDuring(String place) {
        Failpoint here = find(place);
        if (here != null && here.isReached()) {
            Thread other =
                    new Thread(
                            () -> {
                                // Sometimes before the broker has taken it, sometimes after.
                                LockSupport.parkNanos(
                                        ThreadLocalRandom.current().nextLong(LONGEST_DOUBT_NANOS));
                                here.strike();
                            });
            other.setDaemon(true);
            other.start();
        }
    }

    private static Failpoint find(String place) {
        Map<String, Failpoint> set = places;
        if (set.isEmpty()) {
            return null;
        }
        Crash.pass();
        return set.get(place);
    }

    private boolean isReached() {
        return reached.incrementAndGet() == at;
    }

    private void strike() {
        try {
            switch (act) {
                case "kill" -> kill();
                case "stop" -> stop();
                case "crash" -> Crash.strike();
                default -> hold(Path.of(act));
            }
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static void kill() {
        // In the driver the parent is the Python process, which would outlive its JVM and run its
        // own clean-up. An executor's parent is somebody else's.
        ProcessHandle.current()
                .parent()
                .filter(parent -> parent.info().command().orElse("").contains("python"))
                .ifPresent(ProcessHandle::destroyForcibly);
        Runtime.getRuntime().halt(KILLED);
    }

    /** Stops, and comes back only after it has stood still and was let go on. */
    private static void stop() throws IOException, InterruptedException {
        String self = Long.toString(ProcessHandle.current().pid());
        // The signal may take effect some time after it was sent. Whoever sends it waits for
        // that, and this thread for the sender; not for ever, as the process may be let go on
        // before the sender has looked.
        String stopAndWait =
                "kill -STOP $0; n=0; while [ $n -lt 500 ] && [ -e /proc/$0/status ]"
                        + " && ! grep -q '^State:.T' /proc/$0/status;"
                        + " do n=$((n + 1)); sleep 0.01; done";
        new ProcessBuilder("sh", "-c", stopAndWait, self).start().waitFor();
    }

    private static void hold(Path file) throws IOException {
        Files.createFile(file);
        while (Files.exists(file)) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }
}
