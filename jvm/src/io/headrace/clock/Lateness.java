package io.headrace.clock;

/**
 * How late events come, counted in buckets that grow with what they count.
 *
 * <p>Bucket 0 holds the events in order. Behind it each doubling, beginning with 1 ms, has four
 * buckets, so a bucket's upper end is at most a quarter above what is in it.
 */
final class Lateness {
    static final int BUCKETS = 1 + 41 * 4;

    private static final long LONGEST_MS = (1L << 41) - 1;
    // What counts is the recent past: beyond so many events, old ones count half.
    private static final long REMEMBERED = 100_000;

    private Lateness() {}

    /** The bucket of an event that lies so many microseconds behind the largest before it. */
    static int bucket(long micros) {
        if (micros <= 0) {
            return 0;
        }
        long ms = Math.min((micros - 1) / 1000 + 1, LONGEST_MS);
        int octave = 63 - Long.numberOfLeadingZeros(ms);
        long quarter = octave < 2 ? ms << (2 - octave) : ms >> (octave - 2);
        return 1 + octave * 4 + (int) (quarter & 3);
    }

    /** The most milliseconds that an event in this bucket is late. */
    static long upTo(int bucket) {
        if (bucket == 0) {
            return 0;
        }
        int octave = (bucket - 1) / 4;
        long quarter = 4 + (bucket - 1) % 4;
        return octave < 2 ? quarter >> (2 - octave) : ((quarter + 1) << (octave - 2)) - 1;
    }

    /** The milliseconds within which this share of the events came. */
    static long within(double share, long[] counts) {
        long wanted = (long) Math.ceil(share * sum(counts));
        long found = 0;
        for (int bucket = 0; bucket < counts.length; bucket++) {
            found += counts[bucket];
            if (found >= wanted) {
                return upTo(bucket);
            }
        }
        return 0;
    }

    /** Adds what was counted since, and lets what is old fade. */
    static long[] later(long[] before, long[] since) {
        long[] counts = new long[BUCKETS];
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            counts[bucket] = before[bucket] + since[bucket];
        }
        while (sum(counts) > REMEMBERED) {
            for (int bucket = 0; bucket < BUCKETS; bucket++) {
                counts[bucket] = (counts[bucket] + 1) / 2;
            }
        }
        return counts;
    }

    private static long sum(long[] counts) {
        long sum = 0;
        for (long count : counts) {
            sum += count;
        }
        return sum;
    }
}
