package io.headrace.sinks.opensearch;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Requests of one lane that are on their way at the same time.
 *
 * <p>They may arrive in any order: of two rows of a key, the one with the lower version is not
 * taken, before or after the other.
 */
final class Flights {
    /** So that OpenSearch has the next one when it has ended one. */
    private static final int MOST = 2;

    private static final ExecutorService THREADS =
            Executors.newCachedThreadPool(
                    work -> {
                        Thread thread = new Thread(work, "headrace-opensearch");
                        thread.setDaemon(true);
                        return thread;
                    });

    private final Deque<Future<?>> open = new ArrayDeque<>();

    /** Lets a request begin, once there is room for it. */
    void begin(Runnable request) {
        while (open.size() >= MOST) {
            land();
        }
        open.add(THREADS.submit(request));
    }

    /** Waits until all have ended. */
    void landAll() {
        while (!open.isEmpty()) {
            land();
        }
    }

    /** Gives up what is on its way. */
    void abandon() {
        open.forEach(request -> request.cancel(true));
        open.clear();
    }

    private void land() {
        try {
            open.remove().get();
        } catch (ExecutionException failed) {
            abandon();
            if (failed.getCause() instanceof RuntimeException problem) {
                throw problem;
            }
            throw new IllegalStateException(failed.getCause());
        } catch (InterruptedException interrupted) {
            abandon();
            Thread.currentThread().interrupt();
            throw new IllegalStateException("the task was stopped while it waited", interrupted);
        }
    }
}
