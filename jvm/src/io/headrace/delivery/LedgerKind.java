package io.headrace.delivery;

import java.util.Map;
import java.util.Set;

/** Where a ledger is kept, and what its records name that must not be exchanged. */
enum LedgerKind {
    /** In Kafka's progress topic; records name topics by their ids. */
    TOPIC {
        @Override
        String missing() {
            return "the progress topic was deleted, made anew, or belongs to another name.";
        }

        @Override
        Refusal exchanged(String name, String before, String now, BatchTerms held, long batch) {
            return Refusal.of(
                    "topic-recreated",
                    "output topic \"" + name + "\" was made anew",
                    "batch " + held.batch() + " went to the topic with id " + before
                            + ", which is gone; this one has id " + now + ".",
                    "to go on into the new one from batch " + batch
                            + ", start once with adopt=\"topics\".");
        }
    },
    /** In the sink itself; records name tables, indexes and the like by a fingerprint. */
    SINK {
        @Override
        String missing() {
            return "the sink's ledger was deleted, or the output has another name than before.";
        }

        @Override
        Refusal exchanged(String name, String before, String now, BatchTerms held, long batch) {
            return Refusal.of(
                    "target-recreated",
                    name + " was made anew",
                    "batch " + held.batch() + " went to the one with id " + before
                            + ", which is gone; this one has id " + now + ".",
                    "to go on into the new one from batch " + batch
                            + ", start once with adopt=\"topics\".");
        }
    };

    /** Says why there may be no record. */
    abstract String missing();

    abstract Refusal exchanged(
            String name, String before, String now, BatchTerms held, long batch);

    /** Refuses what was made anew under its old name since the ledger's last batch. */
    void requireSame(BatchTerms terms, BatchTerms held, Set<String> adopt) {
        for (Map.Entry<String, String> target : terms.topics().entrySet()) {
            String before = held.topics().get(target.getKey());
            boolean isOther = before != null && !before.equals(target.getValue());
            if (isOther && !adopt.contains("topics")) {
                throw exchanged(
                        target.getKey(), before, target.getValue(), held, terms.batch());
            }
        }
    }
}
