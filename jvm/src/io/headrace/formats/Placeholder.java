package io.headrace.formats;

import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * What the connector writes in place of a value that the database has not sent.
 *
 * <p>The setting {@code unavailable.value.placeholder} says it; the connector makes other forms of
 * it for the types that a text does not fit.
 */
final class Placeholder {
    static final String TEXT = "__debezium_unavailable_value";

    private static final byte[] BYTES = TEXT.getBytes(StandardCharsets.UTF_8);
    private static final String BASE64 = Base64.getEncoder().encodeToString(BYTES);

    /** As a map of texts that is written as JSON. */
    private static final String MAP = "{\"" + TEXT + "\":\"" + TEXT + "\"}";

    private static final List<String> TEXTS = List.of(TEXT, BASE64, MAP);

    private static final List<byte[]> LISTS =
            List.of(
                    bytes("[\"" + TEXT + "\"]"),
                    bytes("[\"" + BASE64 + "\"]"),
                    bytes("[\"" + UUID.nameUUIDFromBytes(BYTES) + "\"]"),
                    bytes(
                            TEXT.chars()
                                    .mapToObj(Integer::toString)
                                    .collect(Collectors.joining(",", "[", "]"))));

    private Placeholder() {}

    /** Whether the parser's current text is the placeholder of a text, of bytes or of a map. */
    static boolean isText(JsonParser parser) throws IOException {
        int length = parser.getTextLength();
        for (String text : TEXTS) {
            if (text.length() == length) {
                char[] chars = parser.getTextCharacters();
                int start = parser.getTextOffset();
                return text.contentEquals(java.nio.CharBuffer.wrap(chars, start, length));
            }
        }
        return false;
    }

    /** Whether a part of a text is the placeholder of a list. */
    static boolean isList(byte[] text, int from, int length) {
        for (byte[] list : LISTS) {
            if (list.length == length
                    && Arrays.equals(text, from, from + length, list, 0, length)) {
                return true;
            }
        }
        return false;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
