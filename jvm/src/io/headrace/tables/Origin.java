package io.headrace.tables;

/**
 * Where a change was read, and when it was made.
 *
 * @param partition the partition of its topic
 * @param offset its offset there
 * @param at when it was made, in microseconds; {@link #NO_TIME} if that is not known
 */
record Origin(int partition, long offset, long at) {
    static final long NO_TIME = Long.MIN_VALUE;

    /** The same place, at a time that is at least this one: clocks are set back at times. */
    Origin notBefore(long earliest) {
        return at >= earliest ? this : new Origin(partition, offset, earliest);
    }
}
