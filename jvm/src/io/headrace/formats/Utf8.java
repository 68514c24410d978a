package io.headrace.formats;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Checks and makes text in UTF-8.
 *
 * <p>Neither the JSON parser nor Spark can be left to it: the first lets overlong forms pass and
 * guesses UTF-16, the second puts a question mark for what it cannot write.
 */
final class Utf8 {
    private static final VarHandle EIGHT_BYTES =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final long HIGH_BITS = 0x8080808080808080L;

    private Utf8() {}

    /** Refuses bytes that are not text in UTF-8. */
    static void require(byte[] bytes, int start) throws Unreadable {
        int i = start;
        while (i + Long.BYTES <= bytes.length
                && ((long) EIGHT_BYTES.get(bytes, i) & HIGH_BITS) == 0) {
            i += Long.BYTES;
        }
        while (i < bytes.length) {
            int length = lengthAt(bytes, i);
            if (length == 0) {
                String found = String.format("0x%02x", bytes[i]);
                throw new Unreadable(
                        Reason.TEXT_NOT_UTF8, "byte " + i + ", " + found + ", is not UTF-8");
            }
            i += length;
        }
    }

    /** The number of bytes of the character at a position, or 0 if there is none. */
    private static int lengthAt(byte[] bytes, int i) {
        int first = bytes[i];
        if (first >= 0) {
            return 1;
        }
        int lead = first & 0xff;
        int length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
        if (length == 0 || i + length > bytes.length) {
            return 0;
        }
        for (int k = 1; k < length; k++) {
            if ((bytes[i + k] & 0xc0) != 0x80) {
                return 0;
            }
        }
        int second = bytes[i + 1] & 0xff;
        // Overlong forms, the surrogates and what lies above U+10FFFF.
        boolean refused =
                switch (lead) {
                    case 0xe0 -> second < 0xa0;
                    case 0xed -> second > 0x9f;
                    case 0xf0 -> second < 0x90;
                    case 0xf4 -> second > 0x8f;
                    default -> false;
                };
        return refused ? 0 : length;
    }

    /** Makes Spark's text of characters, without a string between. */
    static UTF8String of(char[] chars, int start, int length) throws Unreadable {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            char c = chars[start + i];
            if (c >= 0x80) {
                return ofAny(new String(chars, start, length));
            }
            bytes[i] = (byte) c;
        }
        return UTF8String.fromBytes(bytes);
    }

    private static UTF8String ofAny(String text) throws Unreadable {
        for (int i = 0; i < text.length(); i++) {
            if (!Character.isSurrogate(text.charAt(i))) {
                continue;
            }
            if (text.codePointAt(i) > Character.MAX_VALUE) {
                i++;
                continue;
            }
            String found = String.format("\\u%04x", (int) text.charAt(i));
            throw new Unreadable(
                    Reason.TEXT_NOT_UTF8, "half a surrogate pair, " + found + ", is no character");
        }
        return UTF8String.fromString(text);
    }
}
