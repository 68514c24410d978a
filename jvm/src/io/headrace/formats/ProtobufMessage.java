package io.headrace.formats;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Reads a message by the numbers of its fields; a number that the event does not have is passed
 * over.
 *
 * <p>As Protobuf has it, a required field that was not written is 0, false or empty. Of a field
 * that was written twice the last one counts, and a list may come packed or not.
 */
final class ProtobufMessage implements ProtobufValue {
    private final StructField[] fields;
    private final ProtobufValue[] values;
    private final boolean[] repeated;
    private final Map<Integer, Integer> positions = new HashMap<>();

    ProtobufMessage(StructType type) {
        fields = type.fields();
        values = new ProtobufValue[fields.length];
        repeated = new boolean[fields.length];
        for (int i = 0; i < fields.length; i++) {
            repeated[i] = fields[i].dataType() instanceof ArrayType;
            values[i] = ProtobufScalars.of(Types.elementOrSelf(fields[i]), fields[i].metadata());
            positions.put(Types.number(fields[i], i), i);
        }
    }

    @Override
    public int wireType() {
        return WireFormat.WIRETYPE_LENGTH_DELIMITED;
    }

    @Override
    public Object absent() {
        return null;
    }

    @Override
    public Object read(CodedInputStream input) throws IOException, Unreadable {
        int outer = input.pushLimit(input.readRawVarint32());
        Object[] found = fields(input);
        input.popLimit(outer);
        return new GenericInternalRow(found);
    }

    /** Reads up to the input's end, or its limit. */
    @SuppressWarnings("unchecked")
    Object[] fields(CodedInputStream input) throws IOException, Unreadable {
        Object[] found = new Object[fields.length];
        int tag;
        while ((tag = input.readTag()) != 0) {
            Integer position = positions.get(WireFormat.getTagFieldNumber(tag));
            if (position == null) {
                input.skipField(tag);
                continue;
            }
            try {
                if (repeated[position]) {
                    found[position] =
                            elements((List<Object>) found[position], tag, position, input);
                } else {
                    requireWireType(tag, values[position].wireType());
                    found[position] = values[position].read(input);
                }
            } catch (Unreadable e) {
                throw e.inField(fields[position].name());
            }
        }
        settle(found);
        return found;
    }

    private List<Object> elements(
            List<Object> before, int tag, int position, CodedInputStream input)
            throws IOException, Unreadable {
        List<Object> elements = before == null ? new ArrayList<>() : before;
        ProtobufValue value = values[position];
        boolean delimited =
                WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_LENGTH_DELIMITED;
        try {
            if (delimited && value.wireType() != WireFormat.WIRETYPE_LENGTH_DELIMITED) {
                int outer = input.pushLimit(input.readRawVarint32());
                while (!input.isAtEnd()) {
                    elements.add(value.read(input));
                }
                input.popLimit(outer);
            } else {
                requireWireType(tag, value.wireType());
                elements.add(value.read(input));
            }
        } catch (Unreadable e) {
            throw e.inElement(elements.size());
        }
        return elements;
    }

    private static void requireWireType(int tag, int required) throws Unreadable {
        int came = WireFormat.getTagWireType(tag);
        if (came != required) {
            throw new Unreadable(
                    Reason.FIELD_WRONG_TYPE,
                    "wire type " + required + " is required, " + came + " came");
        }
    }

    private void settle(Object[] found) throws Unreadable {
        for (int i = 0; i < found.length; i++) {
            if (repeated[i]) {
                List<?> elements = found[i] == null ? List.of() : (List<?>) found[i];
                found[i] = new GenericArrayData(elements.toArray());
            } else if (found[i] == null && !fields[i].nullable()) {
                found[i] = values[i].absent();
                if (found[i] == null) {
                    throw new Unreadable(Reason.FIELD_MISSING, "it is missing")
                            .inField(fields[i].name());
                }
            }
        }
    }
}
