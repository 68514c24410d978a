package io.headrace.joins;

import io.headrace.delivery.Refusal;
import java.io.Serializable;

/**
 * How large a table may be that every task holds.
 *
 * @param name the join's name
 * @param most the most bytes that keys and rows may have
 */
record TableBound(String name, long most) implements Serializable {
    private static final long MEGABYTE = 1 << 20;

    /** How much a row counts, with its key. */
    static long size(byte[] key, byte[] row) {
        return (long) key.length + row.length;
    }

    void require(long bytes) {
        if (bytes > most) {
            throw Refusal.of(
                    "table-too-large",
                    "the table of join \"" + name + "\" is larger than "
                            + most / MEGABYTE + " megabytes",
                    "every task holds the whole of it in memory.",
                    "allow more with broadcast(most_megabytes=...), choose fewer columns or rows "
                            + "of the table before the join, or let it be looked up by key, "
                            + "with latest().");
        }
    }
}
