package io.headrace.delivery;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a query has delivered since it was started, and when and how long its last batches took. */
final class Report {
    /** As many batches as Spark keeps the progress of. */
    private static final int KEPT = 100;

    private final DeliveryOptions options;
    private final long[] rows;
    private final long[] held;
    private long batches;
    private long heldBatches;
    private long lastBatch = -1;
    private Map<String, Double> lastPhases = Map.of();

    /** When each sink had the rows of a batch; without those that had them before. */
    private final Map<Long, Map<String, Long>> doneAt = new LinkedHashMap<>();

    /** The records that a batch had of each source; without those of which it is not known. */
    private final Map<Long, Map<String, List<Long>>> read = new LinkedHashMap<>();

    Report(DeliveryOptions options) {
        this.options = options;
        this.rows = new long[options.sinks().size()];
        this.held = new long[rows.length];
    }

    /** Adds a finished batch; gives the rows of each sink in it. */
    synchronized long[] add(long batch, List<Delivered> jobs, double driverMs) {
        long[] counts = new long[rows.length];
        Map<String, Double> phases = new LinkedHashMap<>();
        Map<String, Long> done = new LinkedHashMap<>();
        for (Delivered job : jobs) {
            if (!job.isHeld()) {
                job.places().forEach(sink -> done.put(options.sinks().get(sink).name(), job.at()));
            }
            job.places().forEach(sink -> held[sink] += job.isHeld() ? 1 : 0);
            job.receipts().forEach(receipt -> add(receipt, counts, phases));
        }
        phases.put("batch", driverMs);
        batches++;
        heldBatches += jobs.stream().allMatch(Delivered::isHeld) ? 1 : 0;
        lastBatch = batch;
        lastPhases = phases;
        keep(doneAt, batch, done);
        return counts;
    }

    /** Notes what a batch has read; null if that is not known. */
    synchronized void read(long batch, Map<String, List<Long>> records) {
        if (records != null) {
            keep(read, batch, records);
        }
    }

    private static <T> void keep(Map<Long, T> kept, long batch, T told) {
        kept.put(batch, told);
        if (kept.size() > KEPT) {
            kept.remove(kept.keySet().iterator().next());
        }
    }

    private void add(Receipt receipt, long[] counts, Map<String, Double> phases) {
        for (int sink = 0; sink < rows.length; sink++) {
            counts[sink] += receipt.rows()[sink];
            rows[sink] += receipt.rows()[sink];
        }
        // Lanes run side by side, so the slowest one counts.
        receipt.phases().forEach((phase, ms) -> phases.merge(phase, ms, Math::max));
    }

    synchronized String toJson() {
        Map<String, Long> named = new LinkedHashMap<>();
        Map<String, Long> heldBy = new LinkedHashMap<>();
        for (int sink = 0; sink < rows.length; sink++) {
            named.merge(options.sinks().get(sink).name(), rows[sink], Long::sum);
            heldBy.merge(options.sinks().get(sink).name(), held[sink], Math::max);
        }
        int deadLetters = options.deadLetterSink();
        ObjectNode json =
                Json.object()
                        .put("batches", batches)
                        .put("held_batches", heldBatches)
                        .put("last_batch", lastBatch)
                        .put("dead_letters", deadLetters < 0 ? 0 : rows[deadLetters]);
        json.set("rows", Json.value(named));
        json.set("held_by_sink", Json.value(heldBy));
        json.set("last_phases_ms", Json.value(lastPhases));
        json.set("done_at_ms", Json.value(doneAt));
        json.set("read", Json.value(read));
        return json.toString();
    }
}
