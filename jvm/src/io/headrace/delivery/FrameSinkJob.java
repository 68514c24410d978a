package io.headrace.delivery;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** Gives the rows of one sink to it as a frame, unless its ledger holds them. */
final class FrameSinkJob implements SinkJob {
    private final DeliveryOptions options;
    private final int place;
    private final FrameSink sink;
    private final Patience patience;
    private final FreshTargets targets;

    private Integer generation;

    FrameSinkJob(DeliveryOptions options, int place, FrameSink sink) {
        this.options = options;
        this.place = place;
        this.sink = sink;
        this.patience = new Patience(options.patience());
        this.targets = new FreshTargets(sink::targets);
    }

    @Override
    public List<Integer> places() {
        return List.of(place);
    }

    @Override
    public void prepare() {
        try {
            sink.prepare();
        } catch (Refusal refusal) {
            throw refusal.about(named());
        }
    }

    @Override
    public List<Receipt> write(OutgoingBatch batch, BatchTerms terms) {
        try {
            return patience.tried(() -> List.of(attempt(batch, terms.inLanes(1))));
        } catch (Refusal refusal) {
            throw refusal.about(named());
        }
    }

    private Receipt attempt(OutgoingBatch batch, BatchTerms terms) {
        reach("tasks-running");
        Phases phases = new Phases();
        LedgerRecord last = sink.last();
        reach("lane-fenced");
        BatchTerms own = terms.into(targets.ids()).inGeneration(generationAfter(last, terms));
        boolean isHeld = Verdict.on(own, last, adopt(), LedgerKind.SINK) == Verdict.HELD;
        reach("ledger-read");
        phases.end("ledger");
        OutgoingBatch.Counted counted = batch.counted(place);
        if (!isHeld) {
            Dataset<Row> rows =
                    batch.to(places())
                            .select(OutgoingRows.KEY, OutgoingRows.VALUE, OutgoingRows.PLACE);
            LedgerRecord record = new LedgerRecord(own, counted.rows(), counted.checksum());
            sink.write(rows, counted.bytes(), record);
            phases.end("rows");
            reach("committed");
        }
        return receipt(isHeld, counted.rows(), phases);
    }

    private Set<String> adopt() {
        Set<String> adopt = new HashSet<>(options.adopt());
        adopt.addAll(sink.adopts());
        return adopt;
    }

    private int generationAfter(LedgerRecord last, BatchTerms terms) {
        if (generation == null) {
            boolean isFirst = last == null;
            boolean isOurs = isFirst || last.terms().lineage().equals(terms.lineage());
            generation = (isFirst ? 0 : last.terms().generation()) + (isOurs ? 0 : 1);
        }
        return generation;
    }

    private Receipt receipt(boolean isHeld, long count, Phases phases) {
        long[] rows = new long[options.sinks().size()];
        rows[place] = count;
        Map<String, Double> millis = new LinkedHashMap<>();
        phases.millis().forEach((phase, ms) -> millis.put(named().name() + "." + phase, ms));
        return new Receipt(0, isHeld, rows, millis);
    }

    private Sink named() {
        return options.sinks().get(place);
    }

    private void reach(String point) {
        Failpoint.reach(named().system(), point);
    }
}
