package io.headrace.formats;

import org.apache.spark.unsafe.types.UTF8String;

/**
 * UUIDs as text: 32 hexadecimal digits with four hyphens.
 *
 * <p>Capitals are read and become small letters, so that equal UUIDs are equal texts: a key in two
 * spellings would be two keys.
 */
final class UuidText {
    private static final int LENGTH = 36;

    private UuidText() {}

    static UTF8String read(char[] text, int start, int length) throws Unreadable {
        byte[] bytes = length == LENGTH ? spelled(text, start) : null;
        if (bytes == null) {
            throw new Unreadable(
                    Reason.UUID_UNREADABLE,
                    "a UUID is required, " + Shown.quoted(text, start, length) + " came");
        }
        return UTF8String.fromBytes(bytes);
    }

    private static byte[] spelled(char[] text, int start) {
        byte[] bytes = new byte[LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            char c = text[start + i];
            boolean hyphen = i == 8 || i == 13 || i == 18 || i == 23;
            boolean capital = c >= 'A' && c <= 'F';
            boolean digit = c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || capital;
            if (hyphen ? c != '-' : !digit) {
                return null;
            }
            bytes[i] = (byte) (capital ? c + ('a' - 'A') : c);
        }
        return bytes;
    }
}
