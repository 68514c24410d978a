package io.headrace.formats;

import com.google.protobuf.CodedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Writes an event as a Protobuf message, by the numbers of its fields. */
final class ProtobufWriter implements Writer {
    /** The path to the file's first message, in its short form. */
    private static final int FIRST_MESSAGE = 0;

    private final RowWriter<CodedOutputStream> event;
    private final byte[] header;

    ProtobufWriter(StructType schema, byte[] header) {
        event = struct(schema);
        this.header = header;
    }

    @Override
    public byte[] write(InternalRow row) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.writeBytes(header);
        bytes.write(FIRST_MESSAGE);
        try {
            written(event, row, bytes);
        } catch (IOException e) {
            throw new IllegalStateException("bytes in memory failed to be written", e);
        }
        return bytes.toByteArray();
    }

    private static void written(
            RowWriter<CodedOutputStream> row, InternalRow values, ByteArrayOutputStream bytes)
            throws IOException {
        CodedOutputStream output = CodedOutputStream.newInstance(bytes);
        row.write(output, values);
        output.flush();
    }

    private static FieldWriter<CodedOutputStream> of(DataType type) {
        if (type instanceof StructType struct) {
            RowWriter<CodedOutputStream> row = struct(struct);
            return (out, values, i) -> {
                // Its length comes before it, and is known only after it.
                ByteArrayOutputStream inner = new ByteArrayOutputStream();
                written(row, values.getStruct(i, struct.length()), inner);
                out.writeByteArrayNoTag(inner.toByteArray());
            };
        }
        if (type instanceof DecimalType decimal) {
            int precision = decimal.precision();
            int scale = decimal.scale();
            return (out, values, i) ->
                    out.writeStringNoTag(
                            values.getDecimal(i, precision, scale)
                                    .toJavaBigDecimal()
                                    .toPlainString());
        }
        return switch (type.typeName()) {
            case "string" ->
                    (out, values, i) -> out.writeStringNoTag(values.getUTF8String(i).toString());
            case "boolean" -> (out, values, i) -> out.writeBoolNoTag(values.getBoolean(i));
            case "integer" -> (out, values, i) -> out.writeInt32NoTag(values.getInt(i));
            case "long" -> (out, values, i) -> out.writeInt64NoTag(values.getLong(i));
            case "float" -> (out, values, i) -> out.writeFloatNoTag(values.getFloat(i));
            case "double" -> (out, values, i) -> out.writeDoubleNoTag(values.getDouble(i));
            case "binary" -> (out, values, i) -> out.writeByteArrayNoTag(values.getBinary(i));
            case "date" ->
                    (out, values, i) -> out.writeStringNoTag(DateText.of(values.getInt(i)));
            case "timestamp" ->
                    (out, values, i) -> ProtobufTimestamp.write(out, values.getLong(i));
            default -> throw Types.unsupported(type, "Protobuf");
        };
    }

    private static RowWriter<CodedOutputStream> struct(StructType type) {
        StructField[] fields = type.fields();
        List<FieldWriter<CodedOutputStream>> writers = new ArrayList<>();
        for (int i = 0; i < fields.length; i++) {
            writers.add(tagged(fields[i], Types.number(fields[i], i)));
        }
        return (out, row) -> {
            for (int i = 0; i < fields.length; i++) {
                if (!row.isNullAt(i)) {
                    writers.get(i).write(out, row, i);
                } else if (!fields[i].nullable()) {
                    throw Payloads.unfit(
                            "field " + fields[i].name() + " is null, and the schema requires it.");
                }
            }
        };
    }

    /** Each element of a list has a tag of its own; readers take that as well as packed lists. */
    private static FieldWriter<CodedOutputStream> tagged(StructField field, int number) {
        DataType type = Types.elementOrSelf(field);
        FieldWriter<CodedOutputStream> value = of(type);
        int wireType = ProtobufScalars.of(type, field.metadata()).wireType();
        if (!(field.dataType() instanceof ArrayType)) {
            return (out, values, i) -> {
                out.writeTag(number, wireType);
                value.write(out, values, i);
            };
        }
        return (out, values, position) -> {
            ArrayData elements = values.getArray(position);
            for (int i = 0; i < elements.numElements(); i++) {
                if (elements.isNullAt(i)) {
                    throw Payloads.unfit("list " + field.name() + " holds a null.");
                }
                out.writeTag(number, wireType);
                value.write(out, elements, i);
            }
        };
    }
}
