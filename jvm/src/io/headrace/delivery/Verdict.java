package io.headrace.delivery;

import java.util.Set;

/** Whether a lane has a batch to write, judged by the last record of its ledger. */
enum Verdict {
    /** The batch follows what the ledger holds. */
    WRITE,
    /** The batch is in the output already. */
    HELD;

    /**
     * Compares a batch with the ledger.
     *
     * @param terms the batch that Spark runs
     * @param last the last record of the lane, or null
     * @param adopt what the user has said to take over as it is
     * @param kind where the ledger is kept
     * @throws Refusal if going on would lose or double something
     */
    static Verdict on(
            BatchTerms terms, LedgerRecord last, Set<String> adopt, LedgerKind kind) {
        if (last == null) {
            return onNothing(terms, adopt, kind);
        }
        BatchTerms held = last.terms();
        if (!held.lineage().equals(terms.lineage())) {
            return onOtherLineage(terms, held, adopt);
        }
        requireSameLanes(terms, held);
        kind.requireSame(terms, held, adopt);
        if (held.batch() >= terms.batch()) {
            requireSameOffsets(terms, held);
            return HELD;
        }
        if (held.batch() < terms.batch() - 1 && !adopt.contains("gap")) {
            throw Refusal.of(
                    "ledger-gap",
                    "batches " + (held.batch() + 1) + " to " + (terms.batch() - 1)
                            + " are missing from the output",
                    "the ledger ends with batch " + held.batch() + ", and Spark goes on with "
                            + terms.batch() + ".",
                    "find out who moved the checkpoint; to go on without them, start once with "
                            + "adopt=\"gap\".");
        }
        return WRITE;
    }

    private static Verdict onNothing(
            BatchTerms terms, Set<String> adopt, LedgerKind kind) {
        if (terms.batch() > 0 && !adopt.contains("ledger")) {
            throw Refusal.of(
                    "ledger-missing",
                    "the ledger is empty, and the checkpoint is at batch " + terms.batch(),
                    kind.missing(),
                    "give the pipeline its name and its servers back; to begin a new ledger with this "
                            + "batch, start once with adopt=\"ledger\".");
        }
        return WRITE;
    }

    private static Verdict onOtherLineage(BatchTerms terms, BatchTerms held, Set<String> adopt) {
        if (!adopt.contains("checkpoint")) {
            throw Refusal.of(
                    "checkpoint-missing",
                    "the output was written from another checkpoint",
                    "the ledger ends with batch " + held.batch() + " of checkpoint "
                            + held.lineage() + ", at the source offsets " + held.offsets()
                            + ";\nthis is batch " + terms.batch() + " of checkpoint "
                            + terms.lineage() + ".",
                    "put the old checkpoint back; to go on with this one from its own offsets, "
                            + "start once with adopt=\"checkpoint\".");
        }
        return WRITE;
    }

    private static void requireSameLanes(BatchTerms terms, BatchTerms held) {
        if (held.lanes() != terms.lanes()) {
            throw lanesChanged(terms, held, "a batch must end in the lanes it began in.");
        }
    }

    static Refusal lanesChanged(BatchTerms terms, BatchTerms held, String why) {
        return Refusal.of(
                "lanes-changed",
                "the output was written in " + held.lanes() + " lane(s), not " + terms.lanes(),
                why,
                "set lanes=" + held.lanes() + " again; to change the number, start once with "
                        + "adopt=\"lanes\".");
    }

    private static void requireSameOffsets(BatchTerms terms, BatchTerms held) {
        boolean fits =
                held.batch() == terms.batch()
                        ? terms.offsets().isSame(held.offsets())
                        : terms.offsets().isWithin(held.offsets());
        if (!fits) {
            throw Refusal.of(
                    "offsets-changed",
                    "batch " + terms.batch() + " is in the output with other source offsets",
                    "the ledger ends with batch " + held.batch() + " at " + held.offsets()
                            + ";\nthe checkpoint ends batch " + terms.batch() + " at "
                            + terms.offsets() + ".",
                    "the checkpoint is an older copy: put the right one back, or begin a new one "
                            + "at the ledger's offsets with adopt=\"checkpoint\".");
        }
    }
}
