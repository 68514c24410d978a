package io.headrace.formats;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.exc.InputCoercionException;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.io.JsonEOFException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import org.apache.spark.sql.types.StructType;

/** Reads an event from one JSON object, without a tree between. */
final class JsonReader implements Reader {
    private static final int DEEPEST = 500;
    private static final int LONGEST_MESSAGE = 160;

    // The factory holds the table of names that all parsers share.
    static final JsonFactory FACTORY =
            JsonFactory.builder()
                    // Read, so that the field can be named, and then refused by its type.
                    .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
                    .enable(StreamReadFeature.USE_FAST_DOUBLE_PARSER)
                    .enable(StreamReadFeature.USE_FAST_BIG_NUMBER_PARSER)
                    .streamReadConstraints(
                            StreamReadConstraints.builder()
                                    .maxNestingDepth(DEEPEST)
                                    .maxStringLength(Integer.MAX_VALUE)
                                    .build())
                    .build();

    private final JsonStruct event;
    private final int start;

    /**
     * Makes a reader.
     *
     * @param schema the event's fields
     * @param start where the JSON begins; what stands before it is the caller's
     */
    JsonReader(StructType schema, int start) {
        event = new JsonStruct(schema);
        this.start = start;
    }

    @Override
    public Object[] read(byte[] bytes) throws Unreadable {
        return parsed(bytes, start, event::fields);
    }

    /** What is made of the text, from its first token on. */
    interface Content {
        Object[] read(JsonParser parser, JsonToken first) throws IOException, Unreadable;
    }

    /** Parses one JSON text, and nothing behind it. */
    static Object[] parsed(byte[] bytes, int start, Content content) throws Unreadable {
        Utf8.require(bytes, start);
        requireNotWide(bytes, start);
        try (JsonParser parser = FACTORY.createParser(bytes, start, bytes.length - start)) {
            JsonToken first = parser.nextToken();
            if (first == null) {
                throw new Unreadable(Reason.JSON_MALFORMED, "there is no text");
            }
            Object[] fields = content.read(parser, first);
            requireEnd(parser);
            return fields;
        } catch (StreamConstraintsException e) {
            throw beyondLimit(e);
        } catch (InputCoercionException | NumberFormatException e) {
            throw new Unreadable(Reason.NUMBER_OUT_OF_RANGE, String.valueOf(e.getMessage()));
        } catch (JsonEOFException e) {
            throw new Unreadable(Reason.JSON_MALFORMED, "the text ends too early" + place(e));
        } catch (JsonProcessingException e) {
            throw new Unreadable(Reason.JSON_MALFORMED, shown(e) + place(e));
        } catch (IOException e) {
            throw new IllegalStateException("bytes in memory failed to be read", e);
        }
    }

    /** Keeps the parser from taking zero bytes for a sign of UTF-16 or UTF-32. */
    private static void requireNotWide(byte[] bytes, int start) throws Unreadable {
        for (int i = start; i < Math.min(start + 4, bytes.length); i++) {
            if (bytes[i] == 0) {
                throw new Unreadable(Reason.JSON_MALFORMED, "byte " + i + " is NUL");
            }
        }
    }

    private static void requireEnd(JsonParser parser) throws IOException, Unreadable {
        long end = parser.currentLocation().getByteOffset();
        boolean more;
        try {
            more = parser.nextToken() != null;
        } catch (JsonParseException e) {
            more = true;
        }
        if (more) {
            throw new Unreadable(
                    Reason.JSON_TRAILING_TEXT, "there is text after the object, at byte " + end);
        }
    }

    private static Unreadable beyondLimit(StreamConstraintsException e) {
        String message = e.getOriginalMessage();
        if (message.contains("nesting depth")) {
            return new Unreadable(
                    Reason.JSON_TOO_DEEP, "it is nested more than " + DEEPEST + " levels deep");
        }
        boolean number = message.contains("umber");
        return new Unreadable(
                number ? Reason.NUMBER_OUT_OF_RANGE : Reason.JSON_MALFORMED, shown(e));
    }

    private static String shown(JsonProcessingException e) {
        return Shown.line(e.getOriginalMessage(), LONGEST_MESSAGE);
    }

    private static String place(JsonProcessingException e) {
        return e.getLocation() == null ? "" : ", at byte " + e.getLocation().getByteOffset();
    }
}
