package io.headrace.formats;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
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

/** Writes an event as one JSON object; fields that are null are left out. */
final class JsonWriter implements Writer {
    private static final JsonFactory FACTORY =
            JsonFactory.builder().enable(StreamWriteFeature.WRITE_BIGDECIMAL_AS_PLAIN).build();

    private final RowWriter<JsonGenerator> event;
    private final byte[] header;

    JsonWriter(StructType schema, byte[] header) {
        event = struct(schema);
        this.header = header;
    }

    @Override
    public byte[] write(InternalRow row) {
        ByteArrayBuilder bytes = new ByteArrayBuilder();
        bytes.write(header, 0, header.length);
        try (JsonGenerator output = FACTORY.createGenerator(bytes)) {
            event.write(output, row);
        } catch (IOException e) {
            throw new IllegalStateException("bytes in memory failed to be written", e);
        }
        return bytes.toByteArray();
    }

    private static FieldWriter<JsonGenerator> of(DataType type) {
        if (type instanceof StructType struct) {
            RowWriter<JsonGenerator> row = struct(struct);
            return (out, values, i) -> row.write(out, values.getStruct(i, struct.length()));
        }
        if (type instanceof ArrayType list) {
            return list(list);
        }
        if (type instanceof DecimalType decimal) {
            int precision = decimal.precision();
            int scale = decimal.scale();
            return (out, values, i) ->
                    out.writeNumber(values.getDecimal(i, precision, scale).toJavaBigDecimal());
        }
        return switch (type.typeName()) {
            case "string" ->
                    (out, values, i) -> out.writeString(values.getUTF8String(i).toString());
            case "boolean" -> (out, values, i) -> out.writeBoolean(values.getBoolean(i));
            case "byte" -> (out, values, i) -> out.writeNumber(values.getByte(i));
            case "short" -> (out, values, i) -> out.writeNumber(values.getShort(i));
            case "integer" -> (out, values, i) -> out.writeNumber(values.getInt(i));
            case "long" -> (out, values, i) -> out.writeNumber(values.getLong(i));
            // NaN and the infinities come out as texts, which is how they are read.
            case "float" -> (out, values, i) -> out.writeNumber(values.getFloat(i));
            case "double" -> (out, values, i) -> out.writeNumber(values.getDouble(i));
            case "timestamp" ->
                    (out, values, i) -> out.writeString(TimestampText.of(values.getLong(i)));
            case "date" -> (out, values, i) -> out.writeString(DateText.of(values.getInt(i)));
            case "binary" -> (out, values, i) -> out.writeBinary(values.getBinary(i));
            default -> throw Types.unsupported(type, "JSON");
        };
    }

    private static RowWriter<JsonGenerator> struct(StructType type) {
        StructField[] fields = type.fields();
        List<FieldWriter<JsonGenerator>> writers = new ArrayList<>();
        for (StructField field : fields) {
            writers.add(of(field.dataType()));
        }
        return (out, row) -> {
            out.writeStartObject();
            for (int i = 0; i < fields.length; i++) {
                if (!row.isNullAt(i)) {
                    out.writeFieldName(fields[i].name());
                    writers.get(i).write(out, row, i);
                }
            }
            out.writeEndObject();
        };
    }

    private static FieldWriter<JsonGenerator> list(ArrayType type) {
        FieldWriter<JsonGenerator> element = of(type.elementType());
        return (out, values, position) -> {
            ArrayData elements = values.getArray(position);
            out.writeStartArray();
            for (int i = 0; i < elements.numElements(); i++) {
                if (elements.isNullAt(i)) {
                    out.writeNull();
                } else {
                    element.write(out, elements, i);
                }
            }
            out.writeEndArray();
        };
    }
}
