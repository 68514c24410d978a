package io.headrace.delivery;

import org.apache.spark.sql.Row;

/** Counts the rows of a lane for each sink, and sums their checksums in any order. */
final class Tally {
    private final long[] rows;
    private long checksum;

    Tally(int sinks) {
        rows = new long[sinks];
    }

    void add(Row row) {
        rows[OutgoingRows.sink(row)]++;
        checksum += OutgoingRows.checksum(row);
    }

    long[] rows() {
        return rows;
    }

    long total() {
        long total = 0;
        for (long count : rows) {
            total += count;
        }
        return total;
    }

    long checksum() {
        return checksum;
    }
}
