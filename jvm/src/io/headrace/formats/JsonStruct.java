package io.headrace.formats;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Reads an object field by field into an array; fields of other names are passed over. */
class JsonStruct extends JsonValue {
    /** Stands for a null that was written, as an array's own null means that nothing was. */
    static final Object WRITTEN_NULL = new Object();

    private final String[] names;
    private final JsonValue[] values;
    private final boolean[] required;
    private final Map<String, Integer> positions = new HashMap<>();

    JsonStruct(StructType type) {
        this(type, JsonTypes::of);
    }

    /** Makes a reader whose fields are read by readers of one's own. */
    JsonStruct(StructType type, BiFunction<DataType, Metadata, JsonValue> readers) {
        super("an object");
        StructField[] fields = type.fields();
        names = new String[fields.length];
        values = new JsonValue[fields.length];
        required = new boolean[fields.length];
        for (int i = 0; i < fields.length; i++) {
            // The parser interns names, so that one comparison of addresses mostly finds a field.
            names[i] = fields[i].name().intern();
            values[i] = readers.apply(fields[i].dataType(), fields[i].metadata());
            required[i] = !fields[i].nullable();
            positions.put(names[i], i);
        }
    }

    @Override
    Object read(JsonParser parser, JsonToken token) throws IOException, Unreadable {
        return new GenericInternalRow(fields(parser, token));
    }

    final Object[] fields(JsonParser parser, JsonToken token) throws IOException, Unreadable {
        if (token != JsonToken.START_OBJECT) {
            throw wrongType(parser, token);
        }
        Object[] found = new Object[names.length];
        int expected = 0;
        String name;
        while ((name = parser.nextFieldName()) != null) {
            int position = position(name, expected);
            if (position < 0) {
                parser.nextToken();
                parser.skipChildren();
                continue;
            }
            if (found[position] != null) {
                throw new Unreadable(Reason.JSON_DUPLICATE_FIELD, "it is written twice")
                        .inField(name);
            }
            found[position] = field(parser, position);
            expected = position + 1;
        }
        settle(found);
        return found;
    }

    /** Finds a field; writers mostly keep to one order, so the next one is tried first. */
    @SuppressWarnings("StringEquality")
    private int position(String name, int expected) {
        if (expected < names.length && names[expected] == name) {
            return expected;
        }
        Integer position = positions.get(name);
        return position == null ? -1 : position;
    }

    private Object field(JsonParser parser, int position) throws IOException, Unreadable {
        JsonToken token = parser.nextToken();
        if (token == JsonToken.VALUE_NULL) {
            if (required[position]) {
                throw new Unreadable(Reason.FIELD_NULL, "it is null").inField(names[position]);
            }
            return WRITTEN_NULL;
        }
        try {
            return value(values[position], position, parser, token);
        } catch (Unreadable e) {
            throw e.inField(names[position]);
        }
    }

    /** Reads a value that is not null; {@link #WRITTEN_NULL} leaves its field without one. */
    Object value(JsonValue reader, int position, JsonParser parser, JsonToken token)
            throws IOException, Unreadable {
        return reader.read(parser, token);
    }

    private void settle(Object[] found) throws Unreadable {
        for (int i = 0; i < found.length; i++) {
            if (found[i] == WRITTEN_NULL) {
                found[i] = null;
            } else if (found[i] == null && required[i]) {
                throw new Unreadable(Reason.FIELD_MISSING, "it is missing").inField(names[i]);
            }
        }
    }
}
