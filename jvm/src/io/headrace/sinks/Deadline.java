package io.headrace.sinks;

import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Ends what takes too long, from another thread.
 *
 * <p>A server that is halted keeps its connections. Sockets have a time-out for reading from it
 * alone: who writes to it waits for ever, once its buffers are full.
 */
public final class Deadline {
    private static final ScheduledThreadPoolExecutor CLOCK =
            new ScheduledThreadPoolExecutor(1, work -> daemon(work, "headrace-deadlines"));

    static {
        CLOCK.setRemoveOnCancelPolicy(true);
    }

    private final Future<?> waiting;

    private Deadline(Future<?> waiting) {
        this.waiting = waiting;
    }

    /**
     * Begins one, to be closed when what it watches has ended.
     *
     * @param end is run in a thread of its own, and may take long
     */
    public static Deadline in(Duration longest, Runnable end) {
        Runnable start = () -> daemon(end, "headrace-deadline").start();
        return new Deadline(CLOCK.schedule(start, longest.toMillis(), TimeUnit.MILLISECONDS));
    }

    /** Lets nothing happen any more, unless it has begun. */
    public void close() {
        waiting.cancel(false);
    }

    /** A thread that keeps no JVM alive. */
    private static Thread daemon(Runnable work, String name) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        return thread;
    }
}
