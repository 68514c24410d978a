package io.headrace.clock;

import io.headrace.batches.RunningBatch;
import io.headrace.clock.ClockState.Partition;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/**
 * The offsets of a clock: what Spark asks for before each batch, on the driver.
 *
 * <p>An offset is new only if its watermark is, so that the clock alone makes no batch without
 * need. All of it runs on the query's own thread, between its batches.
 */
final class ClockStream
        implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {

    private final Clock clock;
    private final ClockSettings settings;
    private final Strategy strategy;
    private final Journal journal;
    private final ClockState written;
    private final LogEnd logEnd;

    private ClockState state;
    private boolean isRestored;
    private SortedMap<Integer, Long> counted = new TreeMap<>();
    private long[] late = new long[0];
    private boolean hasSpoken;
    private Long frozen;
    private boolean isBounded;
    private StreamingQueryProgress lastTold;
    private Offset lastAnswer;

    ClockStream(Clock clock, Journal journal) {
        this.clock = clock;
        this.settings = clock.settings();
        this.strategy = new Strategy(settings);
        this.journal = journal;
        this.logEnd = clock.logEnd();
        // Before Spark repeats the last batch, which the journal is then no longer of.
        this.written = journal.read();
    }

    @Override
    public Offset initialOffset() {
        return offset(ClockState.NONE);
    }

    @Override
    public Offset latestOffset() {
        throw new UnsupportedOperationException("the clock goes on from where it is");
    }

    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
        ClockState told = ((ClockOffset) start).state();
        long now = now();
        Outlook outlook = outlook(start);
        learn(told, outlook, now);
        boolean isFirst = !hasSpoken;
        hasSpoken = true;
        decide(lookAhead(outlook, isFirst, now), now, isFirst);
        lastAnswer = start;
        if (state.watermark() > told.watermark()) {
            lastAnswer = offset(state);
        } else if (isFirst && told.watermark() > 0 && !isInForce(told.watermark())) {
            state = state.again();
            lastAnswer = offset(state);
        } else if (told.watermark() == 0 && told.run() == 0) {
            return null;
        }
        return lastAnswer;
    }

    /**
     * Whether a batch was run under a watermark, and Spark still knows of it.
     *
     * <p>Spark forgets at a start what each source's watermark was, and takes the least. And where
     * it ended before it had run a batch under a new one, it runs none for that at a start: windows
     * that are complete would wait for an event.
     */
    private boolean isInForce(long watermark) {
        return settings.isAlone() && journal.lastWatermark() >= watermark;
    }

    private void decide(Outlook outlook, long now, boolean isFirst) {
        if (settings.isLagging() && (!isFirst || settings.isAlone())) {
            // Spark sees the events itself; all it has to be told is where a test moved it.
            state = state.at(Math.max(state.watermark(), settings.floorMs()), state.delay());
            return;
        }
        ClockState next = strategy.decide(state, outlook, now);
        boolean isAsleep = !settings.isLagging() && strategy.isAsleep(state, outlook, now);
        OptionalLong all = clock.companions().say(settings.name(), next.watermark(), isAsleep);
        all.ifPresent(reached -> Force.put(query(), clock.companions().count(), reached));
        if (isAsleep) {
            long followed = clock.companions().followed();
            next = next.at(Math.max(next.watermark(), followed), next.delay());
        }
        state = next;
    }

    /** Takes in what the tasks have seen since the last time. */
    private void learn(ClockState told, Outlook outlook, long now) {
        if (!isRestored) {
            restore(told);
            isRestored = true;
        }
        Sightings sightings = clock.sightings();
        SortedMap<Integer, Long> events = sightings.events();
        SortedMap<Integer, Long> largest = sightings.largest();
        Map<Integer, Long> seen = new HashMap<>();
        events.forEach(
                (partition, count) -> {
                    if (count > counted.getOrDefault(partition, 0L)) {
                        seen.put(partition, largest.get(partition));
                    }
                });
        long[] all = sightings.lateness();
        long[] since = all.clone();
        for (int bucket = 0; bucket < late.length; bucket++) {
            since[bucket] -= late[bucket];
        }
        counted = events;
        late = all;
        state = strategy.learn(state, seen, since, outlook, now);
    }

    /**
     * Takes in what the batch that begins will show, as far as the log's end tells it. Its windows
     * can then fire in the same batch, as steps behind such a clock judge what comes by the
     * watermark of the batch before.
     *
     * @return the outlook, in which partitions that could not be looked at are behind
     */
    private Outlook lookAhead(Outlook outlook, boolean isFirst, long now) {
        if (logEnd == null) {
            return outlook;
        }
        OtherSources others = new OtherSources(query());
        if (isFirst) {
            // Some may not have been asked yet, and know nothing.
            others.askClocksLast();
            return outlook;
        }
        LogEnd.Look look = logEnd.at(others.ends(settings.topic()));
        // That nothing is known of a partition does not mean that it was busy.
        Outlook known = new Outlook(false, look.unseen(), Set.of());
        state = strategy.learn(state, look.largest(), new long[0], known, now);
        return outlook.alsoBehind(look.unseen());
    }

    /** Goes on from an offset, and from what was seen since. */
    private void restore(ClockState told) {
        long[] lateness = written.lateness().length == 0 ? told.lateness() : written.lateness();
        state = told.knowing(written.partitions(), lateness);
        for (Map.Entry<Integer, Partition> entry : state.partitions().entrySet()) {
            clock.sightings().remember(entry.getKey(), entry.getValue().largest());
        }
    }

    /** Asks the query what it has last told of itself. */
    private Outlook outlook(Offset start) {
        StreamingQuery query = query();
        StreamingQueryProgress told = query == null ? null : query.lastProgress();
        // Asked twice without a batch between: no source had anything to read.
        boolean isQuiet = lastAnswer != null && lastAnswer.equals(start) && told == lastTold;
        lastTold = told;
        return isQuiet ? Outlook.CAUGHT_UP : Outlook.of(told, settings.topic());
    }

    private StreamingQuery query() {
        String id = context().getLocalProperty(RunningBatch.QUERY);
        return id == null ? null : clock.session().streams().get(id);
    }

    private long now() {
        if (settings.nowMs() != null) {
            return settings.nowMs();
        }
        if (isBounded && settings.isArrival()) {
            // A run that ends at what is there now ends at the time of now, too.
            frozen = frozen == null ? System.currentTimeMillis() : frozen;
            return frozen;
        }
        return System.currentTimeMillis();
    }

    @Override
    public void prepareForTriggerAvailableNow() {
        isBounded = true;
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
        long micros = ((ClockOffset) end).state().watermark() * 1000;
        return new InputPartition[] {
            new Tick(settings.isLagging() ? micros + settings.lagMicros() : micros)
        };
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
        return new Tick.Factory();
    }

    @Override
    public Offset deserializeOffset(String json) {
        return offset(ClockText.parse(json));
    }

    /** Called by Spark when a batch has ended: keeps what it has shown. */
    @Override
    public Map<String, String> metrics(Optional<Offset> latestConsumedOffset) {
        ClockState told =
                latestConsumedOffset.map(o -> ClockText.parse(o.json())).orElse(ClockState.NONE);
        learn(told, Outlook.NONE, now());
        String batch = context().getLocalProperty(RunningBatch.BATCH);
        if (batch != null && !state.hasSeenAs(told)) {
            journal.write(Long.parseLong(batch), state, settings.name());
        }
        return Map.of();
    }

    private SparkContext context() {
        return clock.session().sparkContext();
    }

    private Offset offset(ClockState wanted) {
        return new ClockOffset(wanted, settings.name());
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {
        if (logEnd != null) {
            logEnd.close();
        }
    }

    /** What Spark's progress calls the source. */
    @Override
    public String toString() {
        return clock.toString();
    }
}
