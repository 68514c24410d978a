package io.headrace.delivery;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.monotonically_increasing_id;
import static org.apache.spark.sql.functions.sum;

import java.math.BigDecimal;
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
    public List<Receipt> write(Dataset<Row> batch, BatchTerms terms) {
        Dataset<Row> rows =
                OutgoingRows.of(OutgoingRows.to(batch, places()))
                        .withColumn(OutgoingRows.PLACE, monotonically_increasing_id());
        try {
            return patience.tried(() -> List.of(attempt(rows, terms.inLanes(1))));
        } catch (Refusal refusal) {
            throw refusal.about(named());
        }
    }

    private Receipt attempt(Dataset<Row> rows, BatchTerms terms) {
        reach("tasks-running");
        Phases phases = new Phases();
        LedgerRecord last = sink.last();
        reach("lane-fenced");
        BatchTerms own = terms.into(targets.ids()).inGeneration(generationAfter(last, terms));
        boolean isHeld = Verdict.on(own, last, adopt(), LedgerKind.SINK) == Verdict.HELD;
        reach("ledger-read");
        phases.end("ledger");
        LedgerRecord record = record(rows, own);
        phases.end("plan");
        if (!isHeld) {
            sink.write(rows.select("key", "value", OutgoingRows.PLACE), record);
            phases.end("rows");
            reach("committed");
        }
        return receipt(isHeld, record.rows(), phases);
    }

    private Set<String> adopt() {
        Set<String> adopt = new HashSet<>(options.adopt());
        adopt.addAll(sink.adopts());
        return adopt;
    }

    /** Counts the rows, which are cached, and sums their checksums as a tally does. */
    private static LedgerRecord record(Dataset<Row> rows, BatchTerms terms) {
        Row found =
                rows.agg(
                                count(lit(1)),
                                coalesce(
                                        sum(col(OutgoingRows.CHECKED).cast("decimal(20,0)")),
                                        expr("cast(0 as decimal(30,0))")))
                        .head();
        BigDecimal checksum = found.getDecimal(1);
        return new LedgerRecord(terms, found.getLong(0), checksum.toBigInteger().longValue());
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
