package io.headrace.formats;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/**
 * Points in time as text: ISO 8601 with an offset, such as {@code 2026-03-29T10:15:30.123456Z}.
 *
 * <p>A text without an offset names no point in time, and a bare number names no unit; both are
 * refused. Seconds may have up to nine decimals, of which a timestamp keeps six.
 */
final class TimestampText {
    private static final long MICROS = 1_000_000L;
    private static final int SHORTEST = "2026-03-29T10:15:30Z".length();
    private static final int SECONDS_END = SHORTEST - 1;
    private static final int MOST_DECIMALS = 9;
    private static final long NONE = Long.MIN_VALUE;
    private static final DateTimeFormatter WRITTEN =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSS'Z'")
                    .withZone(ZoneOffset.UTC);

    private TimestampText() {}

    /** The microseconds since 1970-01-01T00:00:00Z. */
    static long micros(char[] text, int start, int length) throws Unreadable {
        long micros = length < SHORTEST ? NONE : microsAt(text, start, start + length);
        if (micros == NONE) {
            throw new Unreadable(
                    Reason.TIMESTAMP_UNREADABLE,
                    "ISO 8601 with an offset, such as 2026-03-29T10:15:30Z, is required, "
                            + Shown.quoted(text, start, length)
                            + " came");
        }
        return micros;
    }

    private static long microsAt(char[] text, int start, int end) {
        int days = DateText.daysAt(text, start);
        char between = text[start + DateText.LENGTH];
        int hour = Digits.at(text, start + 11, 2);
        int minute = Digits.at(text, start + 14, 2);
        int second = Digits.at(text, start + 17, 2);
        boolean shaped = text[start + 13] == ':' && text[start + 16] == ':';
        if (days == Integer.MIN_VALUE || !shaped || between != 'T' && between != ' ') {
            return NONE;
        }
        if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) {
            return NONE;
        }
        int at = start + SECONDS_END;
        long decimals = 0;
        if (text[at] == '.') {
            int first = ++at;
            while (at < end && text[at] >= '0' && text[at] <= '9') {
                // The digits of nanoseconds are read and left out.
                decimals = at - first < 6 ? decimals * 10 + text[at] - '0' : decimals;
                at++;
            }
            if (at == first || at - first > MOST_DECIMALS) {
                return NONE;
            }
            for (int digits = at - first; digits < 6; digits++) {
                decimals *= 10;
            }
        }
        int offset = offsetMinutes(text, at, end);
        if (offset == Integer.MIN_VALUE) {
            return NONE;
        }
        long minutes = (days * 24L + hour) * 60 + minute - offset;
        return (minutes * 60 + second) * MICROS + decimals;
    }

    /** The offset that ends a text, or the smallest integer where something else does. */
    private static int offsetMinutes(char[] text, int at, int end) {
        int none = Integer.MIN_VALUE;
        if (end - at == 1) {
            return text[at] == 'Z' ? 0 : none;
        }
        if (end - at != 6 || text[at] != '+' && text[at] != '-' || text[at + 3] != ':') {
            return none;
        }
        int hours = Digits.at(text, at + 1, 2);
        int minutes = Digits.at(text, at + 4, 2);
        if (hours < 0 || hours > 18 || minutes < 0 || minutes > 59) {
            return none;
        }
        return (text[at] == '-' ? -1 : 1) * (hours * 60 + minutes);
    }

    static String of(long micros) {
        Instant instant =
                Instant.ofEpochSecond(
                        Math.floorDiv(micros, MICROS), Math.floorMod(micros, MICROS) * 1000);
        return WRITTEN.format(instant);
    }
}
