package io.headrace.connect;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Holds records back until all that share their place in the WAL are there.
 *
 * <p>All rows that a COPY writes to one page are one record of the WAL, and have one LSN. So have a
 * deletion and its tombstone, the two halves of an update that changes a key, and the tables of one
 * truncate. A connector that starts again passes over everything with the LSN that it has noted.
 *
 * <p>State: the records of one LSN, at most those of one page of a table, until the next record.
 */
final class WholeGroups {
    private final List<SourceRecord> held = new ArrayList<>();

    /** Takes what was polled, and gives what can be committed, in order. */
    List<SourceRecord> add(List<SourceRecord> polled) {
        held.addAll(polled);
        int end = held.size();
        while (end > 0 && !isEnd(end)) {
            end--;
        }
        List<SourceRecord> ready = held.subList(0, end);
        List<SourceRecord> whole = new ArrayList<>(ready);
        ready.clear();
        return whole;
    }

    /** Forgets what is held: it will be told again. */
    void forget() {
        held.clear();
    }

    private boolean isEnd(int end) {
        Offset last = new Offset(held.get(end - 1));
        return end == held.size()
                ? last.isComplete()
                : last.isCompleteBefore(new Offset(held.get(end)));
    }
}
