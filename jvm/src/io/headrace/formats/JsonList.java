package io.headrace.formats;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.Metadata;

/** Reads a list whose elements are all of one type. */
final class JsonList extends JsonValue {
    private final JsonValue element;
    private final boolean elementRequired;

    JsonList(ArrayType type, Metadata metadata) {
        super("a list");
        element = JsonTypes.of(type.elementType(), metadata);
        elementRequired = !type.containsNull();
    }

    @Override
    Object read(JsonParser parser, JsonToken token) throws IOException, Unreadable {
        if (token != JsonToken.START_ARRAY) {
            throw wrongType(parser, token);
        }
        List<Object> elements = new ArrayList<>();
        JsonToken next;
        while ((next = parser.nextToken()) != JsonToken.END_ARRAY) {
            elements.add(element(parser, next, elements.size()));
        }
        return new GenericArrayData(elements.toArray());
    }

    private Object element(JsonParser parser, JsonToken token, int index)
            throws IOException, Unreadable {
        if (token == JsonToken.VALUE_NULL) {
            if (elementRequired) {
                throw new Unreadable(Reason.FIELD_NULL, "it is null").inElement(index);
            }
            return null;
        }
        try {
            return element.read(parser, token);
        } catch (Unreadable e) {
            throw e.inElement(index);
        }
    }
}
