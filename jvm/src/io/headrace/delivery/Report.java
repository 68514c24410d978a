package io.headrace.delivery;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a query has delivered since it was started, and how long its last batch took. */
final class Report {
    private final DeliveryOptions options;
    private final long[] rows;
    private long batches;
    private long heldBatches;
    private long lastBatch = -1;
    private Map<String, Double> lastPhases = Map.of();

    Report(DeliveryOptions options) {
        this.options = options;
        this.rows = new long[options.sinks().size()];
    }

    /** Adds a finished batch; gives the rows of each sink in it. */
    synchronized long[] add(long batch, List<Receipt> receipts, double driverMs) {
        long[] counts = new long[rows.length];
        Map<String, Double> phases = new LinkedHashMap<>();
        for (Receipt receipt : receipts) {
            for (int sink = 0; sink < rows.length; sink++) {
                counts[sink] += receipt.rows()[sink];
                rows[sink] += receipt.rows()[sink];
            }
            // Lanes run side by side, so the slowest one counts.
            receipt.phases().forEach((phase, ms) -> phases.merge(phase, ms, Math::max));
        }
        phases.put("batch", driverMs);
        batches++;
        if (!receipts.isEmpty() && receipts.stream().allMatch(Receipt::held)) {
            heldBatches++;
        }
        lastBatch = batch;
        lastPhases = phases;
        return counts;
    }

    synchronized String toJson() {
        Map<String, Long> named = new LinkedHashMap<>();
        for (int sink = 0; sink < rows.length; sink++) {
            named.merge(options.sinks().get(sink).name(), rows[sink], Long::sum);
        }
        int deadLetters = options.deadLetterSink();
        ObjectNode json =
                Json.object()
                        .put("batches", batches)
                        .put("held_batches", heldBatches)
                        .put("last_batch", lastBatch)
                        .put("dead_letters", deadLetters < 0 ? 0 : rows[deadLetters]);
        json.set("rows", Json.value(named));
        json.set("last_phases_ms", Json.value(lastPhases));
        return json.toString();
    }
}
