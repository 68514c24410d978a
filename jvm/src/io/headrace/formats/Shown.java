package io.headrace.formats;

/**
 * Foreign text as a detail shows it: on one line, and short.
 *
 * <p>A detail is read by people and lands in headers and tables; the whole value is kept beside it.
 */
final class Shown {
    private static final int LONGEST_VALUE = 40;

    private Shown() {}

    /** A piece of the value itself, in quotes. */
    static String quoted(String text) {
        return '"' + line(text, LONGEST_VALUE) + '"';
    }

    /** The same for a piece that stands in a longer text. */
    static String quoted(char[] text, int start, int length) {
        return quoted(new String(text, start, Math.min(length, LONGEST_VALUE + 1)));
    }

    /** At most so many characters of a text, each of them printable. */
    static String line(String text, int longest) {
        StringBuilder shown = new StringBuilder();
        text.codePoints().limit(longest).forEach(c -> shown.appendCodePoint(printable(c)));
        if (text.codePointCount(0, text.length()) > longest) {
            shown.append('…');
        }
        return shown.toString();
    }

    private static int printable(int c) {
        boolean hidden = Character.isISOControl(c) || Character.getType(c) == Character.SURROGATE;
        return hidden || Character.getType(c) == Character.FORMAT ? '\uFFFD' : c;
    }
}
