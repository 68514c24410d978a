package io.headrace.formats;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Writes an event in Avro.
 *
 * <p>The schema it writes by is the one that Python derives from the same fields: a field that can
 * be null is a union of null and its type, in this order, and everything else stands as it is.
 */
final class AvroWriter implements Writer {
    private final RowWriter<BinaryEncoder> event;
    private final byte[] header;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private BinaryEncoder encoder;

    AvroWriter(StructType schema, byte[] header) {
        event = struct(schema);
        this.header = header;
    }

    @Override
    public byte[] write(InternalRow row) {
        bytes.reset();
        bytes.writeBytes(header);
        try {
            encoder = EncoderFactory.get().binaryEncoder(bytes, encoder);
            event.write(encoder, row);
            encoder.flush();
        } catch (IOException e) {
            throw new IllegalStateException("bytes in memory failed to be written", e);
        }
        return bytes.toByteArray();
    }

    private static FieldWriter<BinaryEncoder> of(DataType type, Metadata metadata) {
        if (type instanceof StructType struct) {
            RowWriter<BinaryEncoder> row = struct(struct);
            return (out, values, i) -> row.write(out, values.getStruct(i, struct.length()));
        }
        if (type instanceof ArrayType list) {
            return list(list, metadata);
        }
        if (type instanceof DecimalType decimal) {
            int precision = decimal.precision();
            int scale = decimal.scale();
            return (out, values, i) ->
                    out.writeBytes(
                            values.getDecimal(i, precision, scale)
                                    .toJavaBigDecimal()
                                    .setScale(scale)
                                    .unscaledValue()
                                    .toByteArray());
        }
        return switch (type.typeName()) {
            case "string" -> text(metadata);
            case "boolean" -> (out, values, i) -> out.writeBoolean(values.getBoolean(i));
            case "byte" -> (out, values, i) -> out.writeInt(values.getByte(i));
            case "short" -> (out, values, i) -> out.writeInt(values.getShort(i));
            case "integer", "date" -> (out, values, i) -> out.writeInt(values.getInt(i));
            case "long", "timestamp" -> (out, values, i) -> out.writeLong(values.getLong(i));
            case "float" -> (out, values, i) -> out.writeFloat(values.getFloat(i));
            case "double" -> (out, values, i) -> out.writeDouble(values.getDouble(i));
            case "binary" -> (out, values, i) -> out.writeBytes(values.getBinary(i));
            default -> throw Types.unsupported(type, "Avro");
        };
    }

    private static FieldWriter<BinaryEncoder> text(Metadata metadata) {
        if (!Types.isAvroEnum(metadata)) {
            return (out, values, i) -> out.writeString(values.getUTF8String(i).toString());
        }
        List<String> symbols = List.of(metadata.getStringArray("symbols"));
        return (out, values, i) -> {
            String symbol = values.getUTF8String(i).toString();
            int index = symbols.indexOf(symbol);
            if (index < 0) {
                throw Payloads.unfit("its enum has no symbol " + Shown.quoted(symbol) + ".");
            }
            out.writeEnum(index);
        };
    }

    private static RowWriter<BinaryEncoder> struct(StructType type) {
        List<FieldWriter<BinaryEncoder>> writers = new ArrayList<>();
        for (StructField field : type.fields()) {
            FieldWriter<BinaryEncoder> value = of(field.dataType(), field.metadata());
            writers.add(field.nullable() ? optional(value) : required(value, field.name()));
        }
        return (out, row) -> {
            for (int i = 0; i < writers.size(); i++) {
                writers.get(i).write(out, row, i);
            }
        };
    }

    private static FieldWriter<BinaryEncoder> optional(FieldWriter<BinaryEncoder> value) {
        return (out, values, i) -> {
            boolean present = !values.isNullAt(i);
            out.writeIndex(present ? 1 : 0);
            if (present) {
                value.write(out, values, i);
            }
        };
    }

    private static FieldWriter<BinaryEncoder> required(
            FieldWriter<BinaryEncoder> value, String name) {
        return (out, values, i) -> {
            if (values.isNullAt(i)) {
                throw Payloads.unfit("field " + name + " is null, and the schema requires it.");
            }
            value.write(out, values, i);
        };
    }

    private static FieldWriter<BinaryEncoder> list(ArrayType type, Metadata metadata) {
        FieldWriter<BinaryEncoder> value = of(type.elementType(), metadata);
        FieldWriter<BinaryEncoder> element =
                type.containsNull() ? optional(value) : required(value, "of a list");
        return (out, values, position) -> {
            ArrayData elements = values.getArray(position);
            out.writeArrayStart();
            out.setItemCount(elements.numElements());
            for (int i = 0; i < elements.numElements(); i++) {
                out.startItem();
                element.write(out, elements, i);
            }
            out.writeArrayEnd();
        };
    }
}
