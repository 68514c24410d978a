package io.headrace.formats;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;

/** Reads a JSON value of one type, straight from the parser into Spark's internal form. */
abstract class JsonValue {
    /** What the type asks for, as in "… is required, … came". */
    private final String required;

    JsonValue(String required) {
        this.required = required;
    }

    /**
     * Reads the value that begins at the parser's current token, which is not null.
     *
     * @return the value; the parser stands at its last token
     */
    abstract Object read(JsonParser parser, JsonToken token) throws IOException, Unreadable;

    /** Says that something of another type came. */
    Unreadable wrongType(JsonParser parser, JsonToken token) throws IOException {
        return new Unreadable(
                Reason.FIELD_WRONG_TYPE, required + " is required, " + came(parser, token));
    }

    /** Says that a number came that the type cannot hold. */
    Unreadable outOfRange(JsonParser parser, JsonToken token) throws IOException {
        return new Unreadable(
                Reason.NUMBER_OUT_OF_RANGE, required + " is required, " + came(parser, token));
    }

    private static String came(JsonParser parser, JsonToken token) throws IOException {
        return switch (token) {
            case START_OBJECT -> "an object came";
            case START_ARRAY -> "a list came";
            case VALUE_STRING -> "the text " + Shown.quoted(parser.getText()) + " came";
            default -> Shown.line(parser.getText(), 40) + " came";
        };
    }
}
