package io.headrace.sinks.redis;

import io.headrace.delivery.OutgoingRow;
import io.headrace.delivery.Refusal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What the rows of a batch leave at each key, so that each is written once.
 *
 * <p>Where rows have versions, it is what they would leave one after the other: the newest since
 * the key was last taken away.
 */
final class Changes {
    /**
     * A change at one key.
     *
     * @param key the bytes of the key, without what all begin with
     * @param value the encoded row, or null to take it away
     * @param version the row's, where versions count
     * @param isFresh whether the key was taken away before, so that nothing older is there
     */
    record Change(byte[] key, byte[] value, String version, boolean isFresh) {}

    private final RedisTerms terms;
    private final String column;
    private final Map<ByteBuffer, Change> byKey = new LinkedHashMap<>();
    private long bytes;

    Changes(RedisTerms terms) {
        this.terms = terms;
        this.column = terms.version();
    }

    void add(OutgoingRow row) {
        if (row.key() == null) {
            throw refused("a row without a key", "its key column is null.");
        }
        String version = column == null || row.value() == null ? null : version(row);
        Change change = new Change(row.key(), row.value(), version, false);
        bytes += size(change);
        byKey.merge(ByteBuffer.wrap(row.key()), change, this::following);
    }

    Collection<Change> all() {
        return byKey.values();
    }

    /** How much is held. */
    long bytes() {
        return bytes;
    }

    void clear() {
        byKey.clear();
        bytes = 0;
    }

    private Change following(Change before, Change next) {
        if (column == null || next.value() == null) {
            bytes -= size(before);
            return next;
        }
        boolean isAfterEnd = before.value() == null;
        if (!isAfterEnd && !Version.isNewer(next.version(), before.version())) {
            bytes -= size(next);
            return before;
        }
        bytes -= size(before);
        boolean isFresh = isAfterEnd || before.isFresh();
        return new Change(next.key(), next.value(), next.version(), isFresh);
    }

    private String version(OutgoingRow row) {
        String version = RowFields.field(row.value(), column);
        if (version == null) {
            throw refused(
                    "the row of key \"" + shown(row.key()) + "\"",
                    "its version, column \"" + column + "\", is null, so nothing tells whether "
                            + "it is newer than what is there.");
        }
        return version;
    }

    private Refusal refused(String which, String why) {
        return Refusal.of(
                "row-refused",
                "sink \"" + terms.sink() + "\" cannot take " + which,
                why,
                "leave such rows out with where(...), or give the column a value.");
    }

    private static String shown(byte[] key) {
        return new String(key, StandardCharsets.UTF_8);
    }

    /** About what a change takes in memory. */
    private static long size(Change change) {
        return 100 + change.key().length + (change.value() == null ? 0 : change.value().length);
    }
}
