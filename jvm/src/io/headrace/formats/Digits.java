package io.headrace.formats;

/** Reads a fixed number of decimal digits. */
final class Digits {
    private Digits() {}

    /** The number at a position, or -1 if one of the characters is not a digit from 0 to 9. */
    static int at(char[] text, int start, int count) {
        int number = 0;
        for (int i = start; i < start + count; i++) {
            int digit = text[i] - '0';
            if (digit < 0 || digit > 9) {
                return -1;
            }
            number = number * 10 + digit;
        }
        return number;
    }
}
