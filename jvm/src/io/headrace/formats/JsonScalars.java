package io.headrace.formats;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.Base64;
import java.util.function.LongFunction;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;

/** The JSON values that hold no others, each strict about its own form. */
final class JsonScalars {
    private static final int LONG_DIGITS = 19;

    private JsonScalars() {}

    /** Texts, and what is written as text. */
    abstract static class Text extends JsonValue {
        Text(String required) {
            super(required);
        }

        @Override
        final Object read(JsonParser parser, JsonToken token) throws IOException, Unreadable {
            if (token != JsonToken.VALUE_STRING) {
                throw wrongType(parser, token);
            }
            return of(parser.getTextCharacters(), parser.getTextOffset(), parser.getTextLength());
        }

        abstract Object of(char[] text, int start, int length) throws Unreadable;
    }

    static JsonValue text() {
        return new Text("a text") {
            @Override
            Object of(char[] text, int start, int length) throws Unreadable {
                return Utf8.of(text, start, length);
            }
        };
    }

    static JsonValue symbol(Symbols symbols) {
        return new Text("a text") {
            @Override
            Object of(char[] text, int start, int length) throws Unreadable {
                return symbols.of(new String(text, start, length));
            }
        };
    }

    static JsonValue uuid() {
        return new Text("a UUID as text") {
            @Override
            Object of(char[] text, int start, int length) throws Unreadable {
                return UuidText.read(text, start, length);
            }
        };
    }

    static JsonValue date() {
        return new Text("a date as text") {
            @Override
            Object of(char[] text, int start, int length) throws Unreadable {
                return DateText.days(text, start, length);
            }
        };
    }

    static JsonValue timestamp() {
        return new Text("a timestamp as text, ISO 8601 with an offset,") {
            @Override
            Object of(char[] text, int start, int length) throws Unreadable {
                return TimestampText.micros(text, start, length);
            }
        };
    }

    static JsonValue bytes() {
        return new Text("bytes as text in base64") {
            @Override
            Object of(char[] text, int start, int length) throws Unreadable {
                try {
                    return Base64.getDecoder().decode(new String(text, start, length));
                } catch (IllegalArgumentException e) {
                    String shown = Shown.quoted(text, start, length);
                    throw new Unreadable(
                            Reason.BYTES_NOT_BASE64, "base64 is required, " + shown + " came");
                }
            }
        };
    }

    static JsonValue truth() {
        return new JsonValue("true or false") {
            @Override
            Object read(JsonParser parser, JsonToken token) throws IOException, Unreadable {
                if (token != JsonToken.VALUE_TRUE && token != JsonToken.VALUE_FALSE) {
                    throw wrongType(parser, token);
                }
                return token == JsonToken.VALUE_TRUE;
            }
        };
    }

    /** Whole numbers of a range; 1.0 and 1e3 are whole numbers too. */
    static JsonValue whole(long smallest, long largest, LongFunction<Object> boxed) {
        String required = "a whole number from " + smallest + " to " + largest;
        return new JsonValue(required) {
            @Override
            Object read(JsonParser parser, JsonToken token) throws IOException, Unreadable {
                long number;
                if (token == JsonToken.VALUE_NUMBER_INT) {
                    if (parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
                        throw outOfRange(parser, token);
                    }
                    number = parser.getLongValue();
                } else if (token == JsonToken.VALUE_NUMBER_FLOAT && !parser.isNaN()) {
                    BigDecimal bare = parser.getDecimalValue().stripTrailingZeros();
                    if (bare.scale() > 0) {
                        throw wrongType(parser, token);
                    }
                    // Before anything is spelled out: 1e99999999 has many digits.
                    if ((long) bare.precision() - bare.scale() > LONG_DIGITS
                            || bare.toBigInteger().bitLength() >= Long.SIZE) {
                        throw outOfRange(parser, token);
                    }
                    number = bare.longValue();
                } else if (token == JsonToken.VALUE_NUMBER_FLOAT) {
                    throw outOfRange(parser, token);
                } else {
                    throw wrongType(parser, token);
                }
                if (number < smallest || number > largest) {
                    throw outOfRange(parser, token);
                }
                return boxed.apply(number);
            }
        };
    }

    /**
     * Floating-point numbers. JSON cannot write NaN and the infinities as numbers; as in Protobuf's
     * mapping to JSON they are texts. Bare, they are what careless writers send.
     */
    static JsonValue floating(boolean single) {
        return new JsonValue("a number") {
            @Override
            Object read(JsonParser parser, JsonToken token) throws IOException, Unreadable {
                if (token == JsonToken.VALUE_STRING) {
                    return boxed(named(parser, token));
                }
                if (token != JsonToken.VALUE_NUMBER_INT && token != JsonToken.VALUE_NUMBER_FLOAT) {
                    throw wrongType(parser, token);
                }
                Object number = single ? (Object) parser.getFloatValue() : parser.getDoubleValue();
                if (parser.isNaN() || !Double.isFinite(((Number) number).doubleValue())) {
                    throw outOfRange(parser, token);
                }
                return number;
            }

            private double named(JsonParser parser, JsonToken token)
                    throws IOException, Unreadable {
                return switch (parser.getText()) {
                    case "NaN" -> Double.NaN;
                    case "Infinity" -> Double.POSITIVE_INFINITY;
                    case "-Infinity" -> Double.NEGATIVE_INFINITY;
                    default -> throw wrongType(parser, token);
                };
            }

            private Object boxed(double number) {
                return single ? (Object) (float) number : (Object) number;
            }
        };
    }

    /** Exact decimals, as numbers or as texts. */
    static JsonValue decimal(DecimalType type) {
        DecimalText decimals = new DecimalText(type);
        return new JsonValue("a decimal number") {
            @Override
            Object read(JsonParser parser, JsonToken token) throws IOException, Unreadable {
                boolean number =
                        token == JsonToken.VALUE_NUMBER_INT
                                || token == JsonToken.VALUE_NUMBER_FLOAT;
                if (!number && token != JsonToken.VALUE_STRING) {
                    throw wrongType(parser, token);
                }
                if (number && parser.isNaN()) {
                    throw outOfRange(parser, token);
                }
                return decimals.read(
                        parser.getTextCharacters(),
                        parser.getTextOffset(),
                        parser.getTextLength());
            }
        };
    }
}
