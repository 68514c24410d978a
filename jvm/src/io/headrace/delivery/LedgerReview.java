package io.headrace.delivery;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Looks at the ledgers of all lanes together, on the driver, before the first batch of a run.
 *
 * <p>A lane alone cannot see that the number of lanes was changed: a new lane's ledger is empty,
 * as at a first start.
 */
final class LedgerReview {
    private final Ledgers ledgers;
    private final BatchTerms terms;
    private final Set<String> adopt;

    LedgerReview(Ledgers ledgers, BatchTerms terms, Set<String> adopt) {
        this.ledgers = ledgers;
        this.terms = terms;
        this.adopt = adopt;
    }

    /** Refuses another number of lanes, or carries the ledger over to it if that was asked for. */
    void require() {
        if (!adopt.isEmpty()) {
            // What is adopted must not change meanwhile, in any lane that ever was.
            ledgers.fence();
        }
        BatchTerms held = anyOfThisLineage();
        if (held == null || held.lanes() == terms.lanes()) {
            return;
        }
        if (!adopt.contains("lanes")) {
            throw Verdict.lanesChanged(terms, held, "a batch must end in the lanes it began in.");
        }
        carryOver(held);
    }

    /** A record of this checkpoint; lane 0's above all, as there is no number without a lane 0. */
    private BatchTerms anyOfThisLineage() {
        for (int lane = 0; lane < ledgers.width(); lane++) {
            LedgerRecord last = ledgers.last(lane);
            if (last != null && last.terms().lineage().equals(terms.lineage())) {
                return last.terms();
            }
        }
        return null;
    }

    /** Writes the ledger anew for the new number of lanes. */
    private void carryOver(BatchTerms held) {
        List<LedgerRecord> lanes = new ArrayList<>();
        for (int lane = 0; lane < held.lanes(); lane++) {
            lanes.add(ledgers.last(lane));
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
        BatchTerms moved = held.inLanes(terms.lanes());
        TopicEnds ends = new TopicEnds();
        lanes.forEach(last -> ends.add(last.ends()));
        List<LedgerRecord> next = new ArrayList<>();
        for (int lane = 0; lane < terms.lanes(); lane++) {
            // The checksum of a lane's old part says nothing about its new one.
            next.add(new LedgerRecord(moved, lane == 0 ? rows : 0, null, ends.offsets()));
        }
        ledgers.replace(next);
    }
}
