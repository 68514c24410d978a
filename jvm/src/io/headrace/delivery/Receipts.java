package io.headrace.delivery;

import java.util.ArrayList;
import java.util.List;

/** What the tasks of a job report, together. */
final class Receipts {
    private Receipts() {}

    /**
     * Reads the reports.
     *
     * @throws Refusal if one of them is one; one that no further attempt would change comes first
     */
    static List<Receipt> parse(List<String> told) {
        List<Receipt> receipts = new ArrayList<>();
        Refusal found = null;
        for (String text : told) {
            try {
                receipts.add(Receipt.parse(text));
            } catch (Refusal refusal) {
                found = found == null || refusal.isFinal() && !found.isFinal() ? refusal : found;
            }
        }
        if (found != null) {
            throw found;
        }
        return receipts;
    }
}
