package io.headrace.delivery;

import java.util.ArrayList;
import java.util.List;

/**
 * Looks at the ledgers of all lanes together, on the driver, before the first batch of a run.
 *
 * <p>A lane alone cannot see that the number of lanes was changed: a new lane's ledger is empty,
 * as at a first start.
 */
final class LedgerReview {
    private final DeliveryOptions options;
    private final BatchTerms terms;
    private final int partitions;

    LedgerReview(DeliveryOptions options, BatchTerms terms, int partitions) {
        this.options = options;
        this.terms = terms;
        this.partitions = partitions;
    }

    /** Refuses another number of lanes, or carries the ledger over to it if that was asked for. */
    void require() {
        if (isAdopting()) {
            // What is adopted must not change meanwhile, in any lane that ever was.
            fenceAll();
        }
        BatchTerms held = anyOfThisLineage();
        if (held == null || held.lanes() == terms.lanes()) {
            return;
        }
        if (!options.adopt().contains("lanes")) {
            throw Verdict.lanesChanged(terms, held, "a batch must end in the lanes it began in.");
        }
        carryOver(held);
    }

    private void fenceAll() {
        for (int lane = 0; lane < partitions; lane++) {
            try (Lane writer = new Lane(options, lane)) {
                writer.fence();
            }
        }
    }

    /** A record of this checkpoint; lane 0's above all, as there is no number without a lane 0. */
    private BatchTerms anyOfThisLineage() {
        for (int lane = 0; lane < partitions; lane++) {
            LedgerRecord last = last(lane);
            if (last != null && last.terms().lineage().equals(terms.lineage())) {
                return last.terms();
            }
        }
        return null;
    }

    /** Writes the ledger anew for the new number of lanes, all of it in one transaction. */
    private void carryOver(BatchTerms held) {
        List<LedgerRecord> lanes = new ArrayList<>();
        for (int lane = 0; lane < held.lanes(); lane++) {
            lanes.add(last(lane));
        }
        boolean agree =
                lanes.stream()
                        .allMatch(
                                last ->
                                        last != null
                                                && last.terms().lineage().equals(held.lineage())
                                                && last.terms().batch() == held.batch()
                                                && last.terms().lanes() == held.lanes());
        if (!agree) {
            throw Verdict.lanesChanged(
                    terms,
                    held,
                    "the lanes do not hold the same batch, so it must be finished in the old "
                            + "number first.");
        }
        long rows = lanes.stream().mapToLong(LedgerRecord::rows).sum();
        BatchTerms moved =
                new BatchTerms(
                        held.lineage(), held.batch(), terms.lanes(), held.offsets(), held.topics());
        try (Lane writer = new Lane(options, 0)) {
            writer.fence();
            writer.begin();
            for (int lane = 0; lane < terms.lanes(); lane++) {
                // The checksum of a lane's old part says nothing about its new one.
                writer.sendRecord(new LedgerRecord(moved, lane == 0 ? rows : 0, null), lane);
            }
            writer.flush();
            writer.commit(null);
        }
    }

    private LedgerRecord last(int lane) {
        try (Ledger ledger = new Ledger(options, lane)) {
            return isAdopting() ? ledger.settled() : ledger.glance();
        }
    }

    private boolean isAdopting() {
        return !options.adopt().isEmpty();
    }
}
