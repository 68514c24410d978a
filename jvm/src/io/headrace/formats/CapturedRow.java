package io.headrace.formats;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;

/**
 * Reads the row of a captured table, and notes the columns whose value was not sent.
 *
 * <p>PostgreSQL does not log a large value that an update leaves as it is. The connector puts a
 * placeholder in its place, which fits no type; such a column is null here and stands in {@link
 * #unsent()}.
 */
final class CapturedRow extends JsonStruct {
    private final List<Integer> unsent = new ArrayList<>();
    private byte[] text;

    CapturedRow(StructType type) {
        super(type, CapturedRow::reader);
    }

    /**
     * Reads a row.
     *
     * @param whole the text that the parser reads, from its first byte on
     * @return the fields; null for a row that is null
     */
    Object[] row(JsonParser parser, JsonToken token, byte[] whole)
            throws IOException, Unreadable {
        unsent.clear();
        text = whole;
        return token == JsonToken.VALUE_NULL ? null : fields(parser, token);
    }

    /** The positions of the columns that the last row came without. */
    List<Integer> unsent() {
        return unsent;
    }

    @Override
    Object value(JsonValue reader, int position, JsonParser parser, JsonToken token)
            throws IOException, Unreadable {
        if (token == JsonToken.VALUE_STRING && Placeholder.isText(parser)) {
            unsent.add(position);
            return WRITTEN_NULL;
        }
        return token == JsonToken.START_ARRAY
                ? list(reader, position, parser)
                : reader.read(parser, token);
    }

    /** Looks at a list as a whole first: its placeholder may hold elements of another type. */
    private Object list(JsonValue reader, int position, JsonParser parser)
            throws IOException, Unreadable {
        int from = (int) parser.currentTokenLocation().getByteOffset();
        parser.skipChildren();
        int length = (int) parser.currentLocation().getByteOffset() - from;
        if (Placeholder.isList(text, from, length)) {
            unsent.add(position);
            return WRITTEN_NULL;
        }
        try (JsonParser again = JsonReader.FACTORY.createParser(text, from, length)) {
            return reader.read(again, again.nextToken());
        }
    }

    /** The connector writes a day as ISO's date of an offset: {@code 2026-03-29Z}. */
    private static JsonValue reader(DataType type, Metadata metadata) {
        if (!type.typeName().equals("date")) {
            return JsonTypes.of(type, metadata);
        }
        return new JsonScalars.Text("a date as text") {
            @Override
            Object of(char[] chars, int start, int length) throws Unreadable {
                boolean isZulu = length > 0 && chars[start + length - 1] == 'Z';
                return DateText.days(chars, start, isZulu ? length - 1 : length);
            }
        };
    }
}
