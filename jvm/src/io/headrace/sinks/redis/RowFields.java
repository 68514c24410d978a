package io.headrace.sinks.redis;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** Takes an encoded row apart, without changing a digit of it. */
final class RowFields {
    private static final JsonFactory JSON =
            new JsonFactoryBuilder()
                    .streamReadConstraints(
                            StreamReadConstraints.builder()
                                    .maxStringLength(Integer.MAX_VALUE)
                                    .maxNestingDepth(Integer.MAX_VALUE)
                                    .build())
                    .build();

    private RowFields() {}

    /**
     * Adds the fields of a row that are not null, each followed by its value.
     *
     * <p>Texts are as they are; all else is as JSON has it.
     *
     * @return how many parts were added
     */
    static int addTo(List<byte[]> parts, byte[] row) {
        int before = parts.size();
        try (JsonParser json = JSON.createParser(row)) {
            json.nextToken();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = json.currentName();
                byte[] value = value(json, json.nextToken(), row);
                if (value != null) {
                    parts.add(name.getBytes(StandardCharsets.UTF_8));
                    parts.add(value);
                }
            }
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
        return parts.size() - before;
    }

    /** Writes a row; fields are put in by the caller. */
    static JsonGenerator writer(OutputStream row) throws IOException {
        return JSON.createGenerator(row);
    }

    /** The value of one field, as text; null if it has none. */
    static String field(byte[] row, String wanted) {
        try (JsonParser json = JSON.createParser(row)) {
            json.nextToken();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                boolean isWanted = json.currentName().equals(wanted);
                JsonToken token = json.nextToken();
                if (isWanted) {
                    return token == JsonToken.VALUE_NULL ? null : json.getText();
                }
                json.skipChildren();
            }
            return null;
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private static byte[] value(JsonParser json, JsonToken token, byte[] row) throws IOException {
        if (token == JsonToken.VALUE_NULL) {
            return null;
        }
        if (token.isScalarValue()) {
            return json.getText().getBytes(StandardCharsets.UTF_8);
        }
        int from = (int) json.currentTokenLocation().getByteOffset();
        json.skipChildren();
        return Arrays.copyOfRange(row, from, (int) json.currentLocation().getByteOffset());
    }
}
