package io.headrace.formats;

import java.time.LocalDate;
import java.time.YearMonth;

/** Dates as text: {@code 2026-03-29}, of the years 0001 to 9999. */
final class DateText {
    static final int LENGTH = 10;

    private DateText() {}

    /** The days since 1970-01-01. */
    static int days(char[] text, int start, int length) throws Unreadable {
        int days = length == LENGTH ? daysAt(text, start) : Integer.MIN_VALUE;
        if (days == Integer.MIN_VALUE) {
            throw new Unreadable(
                    Reason.DATE_UNREADABLE,
                    "a date such as 2026-03-29 is required, "
                            + Shown.quoted(text, start, length)
                            + " came");
        }
        return days;
    }

    /** The days of the date at a position, or the smallest integer where there is none. */
    static int daysAt(char[] text, int at) {
        int year = Digits.at(text, at, 4);
        int month = Digits.at(text, at + 5, 2);
        int day = Digits.at(text, at + 8, 2);
        boolean shaped = text[at + 4] == '-' && text[at + 7] == '-';
        if (!shaped || year < 1 || month < 1 || month > 12 || day < 1) {
            return Integer.MIN_VALUE;
        }
        if (day > 28 && day > YearMonth.of(year, month).lengthOfMonth()) {
            return Integer.MIN_VALUE;
        }
        return (int) daysOf(year, month, day);
    }

    /** Counts days from a March, so that the leap day is a year's last. */
    private static long daysOf(int year, int month, int day) {
        int y = month > 2 ? year : year - 1;
        int m = month > 2 ? month - 3 : month + 9;
        return 365L * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 719469;
    }

    static String of(int days) {
        return LocalDate.ofEpochDay(days).toString();
    }
}
