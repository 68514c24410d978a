package io.headrace.sinks;

import io.headrace.delivery.Breaker;
import io.headrace.delivery.Refusal;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Supplier;

/** Repeats what a server could not answer, for a while and at growing intervals. */
public final class ServerCalls {
    /** Before the query starts: a wrong address should be said soon. */
    public static final Duration AT_START = Duration.ofSeconds(5);

    /**
     * Within a lane. What takes longer is the driver's to wait for, which runs the lanes again;
     * until then they hold their rows, and the places in which they run.
     */
    public static final Duration IN_LANE = Duration.ofSeconds(15);

    private static final long FIRST_PAUSE = Duration.ofMillis(50).toNanos();
    private static final long LONGEST_PAUSE = Duration.ofSeconds(2).toNanos();

    private final Duration longest;
    private final Breaker breaker;
    private final Function<Away, Refusal> unreachable;
    private volatile boolean isEnding;

    /**
     * Makes one for a sink's calls.
     *
     * @param sink the sink's name
     * @param server its server's address, without secrets
     * @param longest how long to go on after the first failure
     */
    public ServerCalls(String sink, String server, Duration longest) {
        this(server, longest, away -> unreachable(away, sink, server));
    }

    /**
     * Makes one for calls of another kind.
     *
     * @param server its address, without secrets
     * @param longest how long to go on after the first failure
     * @param unreachable says what it means that there was no answer
     */
    public ServerCalls(String server, Duration longest, Function<Away, Refusal> unreachable) {
        this.longest = longest;
        this.breaker = Breaker.of(server);
        this.unreachable = unreachable;
    }

    /**
     * Calls until there is an answer.
     *
     * @param attempt throws {@link Away} where another attempt may do; the server may have heard
     *     it then, so it must end the same however often it is made
     * @throws Refusal that it is unreachable, passing, when the time is over
     */
    public <T> T until(Supplier<T> attempt) {
        Long since = null;
        long pause = FIRST_PAUSE;
        while (true) {
            try {
                return breaker.guarded(attempt::get, Away.class::isInstance);
            } catch (Away away) {
                long now = System.nanoTime();
                since = since == null ? now : since;
                if (now - since > longest.toNanos() || isToEndWithin(pause)) {
                    throw unreachable.apply(away);
                }
                pause = Math.min(2 * pause, LONGEST_PAUSE);
            }
        }
    }

    /** Lets the waiting end, from another thread. */
    public void end() {
        isEnding = true;
    }

    private boolean isToEndWithin(long pause) {
        // Lanes that failed together should not come back together.
        LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(pause / 2, pause));
        return isEnding || Thread.currentThread().isInterrupted();
    }

    private static Refusal unreachable(Away away, String sink, String server) {
        return Refusal.passing(
                away,
                "sink-unreachable",
                "sink \"" + sink + "\" cannot be reached at " + server,
                away.getMessage() + ".",
                "see to the server, then start the pipeline again: the batch is repeated, and "
                        + "ends the same whatever part of it was written.");
    }
}
