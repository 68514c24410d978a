package io.headrace.tables;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.TreeMap;

/**
 * Puts the changes of a key and batch into order, as they come in none.
 *
 * <p>Those of a partition stay in the order of their offsets. Where a key's changes are in several
 * partitions, the next one is always the one that comes first by place, then by time, of those at
 * the partitions' heads.
 */
final class Merged {
    private static final Comparator<Change> EARLIER =
            Comparator.comparing(Change::place, Comparator.nullsFirst(Comparator.naturalOrder()))
                    .thenComparingLong(Change::at)
                    .thenComparingInt(Change::partition);

    private Merged() {}

    static List<Change> inOrder(List<Change> changes) {
        changes.sort(
                Comparator.comparingInt(Change::partition).thenComparingLong(Change::offset));
        int first = changes.get(0).partition();
        if (changes.get(changes.size() - 1).partition() == first) {
            return changes;
        }
        TreeMap<Integer, List<Change>> parts = new TreeMap<>();
        for (Change change : changes) {
            parts.computeIfAbsent(change.partition(), p -> new ArrayList<>()).add(change);
        }
        return merged(parts.values(), changes.size());
    }

    private static List<Change> merged(Collection<List<Change>> parts, int size) {
        List<List<Change>> heads = new ArrayList<>(parts);
        int[] taken = new int[heads.size()];
        List<Change> found = new ArrayList<>(size);
        while (found.size() < size) {
            int next = -1;
            for (int i = 0; i < taken.length; i++) {
                if (taken[i] == heads.get(i).size()) {
                    continue;
                }
                Change head = head(heads, taken, i);
                if (next < 0 || EARLIER.compare(head, head(heads, taken, next)) < 0) {
                    next = i;
                }
            }
            found.add(head(heads, taken, next));
            taken[next]++;
        }
        return found;
    }

    private static Change head(List<List<Change>> heads, int[] taken, int part) {
        return heads.get(part).get(taken[part]);
    }
}
