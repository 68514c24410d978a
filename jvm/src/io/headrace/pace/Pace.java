package io.headrace.pace;

import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * How soon a query may begin its next batch.
 *
 * <p>A batch is followed by a pause only if few events come: as long as it takes until some are
 * there, as it takes until batches are a part of the time, and never past a moment that is set, from
 * when the batch began. After a silence the first event finds that moment long gone.
 */
public final class Pace {
    /** Batches take one of so many parts of the time. */
    private static final long PARTS = 4;

    /** A batch of so many events is worth what it costs by itself. */
    private static final long ENOUGH = 50;

    /** After a silence as long as this, the brokers are asked half as often. */
    private static final long SILENCE_MS = 10_000;

    private static final long REST_MS = 50;

    private static final Map<String, Pace> OF_QUERIES = new ConcurrentHashMap<>();

    private final long mostMs;

    private String lastBatch;
    private long begunAt;
    private long begunBefore;
    private long restedAt;
    private long records;
    private boolean isBehind;

    private Pace(long mostMs) {
        this.mostMs = mostMs;
        this.begunAt = System.nanoTime();
        this.begunBefore = begunAt;
        this.restedAt = begunAt;
    }

    /** The pace of a query, which all its sources keep. */
    static Pace of(String query, long mostMs) {
        return OF_QUERIES.computeIfAbsent(query, name -> new Pace(mostMs));
    }

    /** Forgets a query that ends. */
    static void forget(String query) {
        OF_QUERIES.remove(query);
    }

    /**
     * Decides on a pause.
     *
     * @param mostMs the time from one batch to the next that is never exceeded
     * @param tookMs how long the batch took that has ended
     * @param gapMs from the begin of the batch before to its begin
     * @param records how many it had
     * @param isBehind whether it left some that were there
     * @return for how long nothing should begin
     */
    public static long pauseMs(
            long mostMs, long tookMs, long gapMs, long records, boolean isBehind) {
        if (records == 0 || isBehind) {
            return 0;
        }
        long untilEnough = ENOUGH * gapMs / records;
        long interval = Math.min(Math.min(mostMs, PARTS * tookMs), untilEnough);
        return Math.max(0, interval - tookMs);
    }

    /**
     * Waits if a batch has run since the sources were asked last, or if nothing has come for long;
     * to be called by each source before it looks at what there is.
     *
     * @param batch the batch that has run last
     * @return the milliseconds of the pause
     */
    synchronized long await(String batch) {
        long now = System.nanoTime();
        if (Objects.equals(batch, lastBatch)) {
            return rest(now);
        }
        lastBatch = batch;
        long tookMs = millis(now - begunAt);
        long pauseMs = pauseMs(mostMs, tookMs, millis(begunAt - begunBefore), records, isBehind);
        records = 0;
        isBehind = false;
        park(now, pauseMs);
        return pauseMs;
    }

    private long rest(long now) {
        // Of the sources that are asked one after the other, the first one rests for all.
        if (millis(now - begunAt) < SILENCE_MS || millis(now - restedAt) < REST_MS) {
            return 0;
        }
        park(now, REST_MS);
        restedAt = System.nanoTime();
        return REST_MS;
    }

    private static void park(long now, long ms) {
        long until = now + Duration.ofMillis(ms).toNanos();
        // Whoever stops the query interrupts its thread; Spark sees that at its next step.
        for (long left = until - now;
                left > 0 && !Thread.currentThread().isInterrupted();
                left = until - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** Takes what a source has found for the batch that begins. */
    synchronized void found(long more, boolean isMoreLeft) {
        if (more > 0 && records == 0) {
            begunBefore = begunAt;
            begunAt = System.nanoTime();
        }
        records += more;
        isBehind |= isMoreLeft;
    }

    private static long millis(long nanos) {
        return Duration.ofNanos(nanos).toMillis();
    }
}
