package io.headrace.delivery;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Writes the rows of one sink in lanes, each with a ledger in the sink itself. */
final class RowSinkJob implements SinkJob {
    private final DeliveryOptions options;
    private final int place;
    private final RowSink sink;
    private final Patience patience;
    private final FreshTargets targets;

    private Integer generation;

    RowSinkJob(DeliveryOptions options, int place, RowSink sink) {
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
            throw refusal.about(options.sinks().get(place));
        }
    }

    @Override
    public List<Receipt> write(OutgoingBatch batch, BatchTerms terms) {
        try {
            return patience.tried(() -> attempt(batch, terms));
        } catch (Refusal refusal) {
            throw refusal.about(options.sinks().get(place));
        }
    }

    private List<Receipt> attempt(OutgoingBatch batch, BatchTerms terms) {
        BatchTerms own = terms.into(targets.ids());
        if (generation == null) {
            generation = review(own);
        }
        SinkWriter writer = new SinkWriter(options, place, sink, own.inGeneration(generation));
        if (batch.counted(place).rows() == 0) {
            return writer.runEmpty();
        }
        return writer.run(batch, places());
    }

    /** Looks at the ledgers of all lanes before the first batch; gives the generation to write. */
    private int review(BatchTerms terms) {
        SinkLedgers ledgers = new SinkLedgers(sink, terms.lanes());
        new LedgerReview(ledgers, terms, options.adopt()).require();
        int latest = 0;
        for (LedgerRecord record : ledgers.all().values()) {
            BatchTerms held = record.terms();
            // Rows of a checkpoint that is adopted must be older than any of this one.
            boolean isOurs = held.lineage().equals(terms.lineage());
            latest = Math.max(latest, held.generation() + (isOurs ? 0 : 1));
        }
        return latest;
    }

    /** The ledgers of a sink, read when they are first asked for. */
    private static final class SinkLedgers implements Ledgers {
        private final RowSink sink;
        private final int lanes;
        private Map<Integer, LedgerRecord> found;

        SinkLedgers(RowSink sink, int lanes) {
            this.sink = sink;
            this.lanes = lanes;
        }

        Map<Integer, LedgerRecord> all() {
            if (found == null) {
                found = sink.ledgers();
            }
            return found;
        }

        @Override
        public int width() {
            int last = all().keySet().stream().mapToInt(Integer::intValue).max().orElse(-1);
            return Math.max(lanes, last + 1);
        }

        @Override
        public void fence() {
            for (int number = 0; number < width(); number++) {
                try (SinkLane lane = sink.lane(number)) {
                    lane.claim();
                }
            }
            found = null;
        }

        @Override
        public LedgerRecord last(int lane) {
            return all().get(lane);
        }

        @Override
        public void replace(List<LedgerRecord> records) {
            Map<Integer, LedgerRecord> next = new HashMap<>();
            for (int lane = 0; lane < records.size(); lane++) {
                next.put(lane, records.get(lane));
            }
            sink.exchange(all(), next);
            found = next;
        }
    }
}
