package io.headrace.delivery;

import java.util.Map;
import java.util.function.Supplier;

/** What a sink writes to, with ids, asked for again when the answer has become old. */
final class FreshTargets {
    /** How old an answer may be: a target made anew is then noticed a few batches later. */
    private static final long FRESH_NANOS = 5_000_000_000L;

    private final Supplier<Map<String, String>> ask;
    private Map<String, String> ids;
    private long askedAt;

    FreshTargets(Supplier<Map<String, String>> ask) {
        this.ask = ask;
    }

    Map<String, String> ids() {
        if (ids == null || System.nanoTime() - askedAt > FRESH_NANOS) {
            ids = ask.get();
            askedAt = System.nanoTime();
        }
        return ids;
    }
}
