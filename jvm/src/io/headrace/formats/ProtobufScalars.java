package io.headrace.formats;

import static com.google.protobuf.WireFormat.WIRETYPE_FIXED32;
import static com.google.protobuf.WireFormat.WIRETYPE_FIXED64;
import static com.google.protobuf.WireFormat.WIRETYPE_LENGTH_DELIMITED;
import static com.google.protobuf.WireFormat.WIRETYPE_VARINT;

import com.google.protobuf.CodedInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * How each type of an event's fields stands in Protobuf.
 *
 * <p>Decimals, dates, UUIDs and symbols are texts, as Protobuf has nothing of its own for them.
 */
final class ProtobufScalars {
    private ProtobufScalars() {}

    /** Reads a value. */
    private interface Reading {
        Object of(CodedInputStream input) throws IOException, Unreadable;
    }

    /** Reads a value that is written as text. */
    private interface TextReading {
        Object of(char[] text, int start, int length) throws Unreadable;
    }

    private record Scalar(int wireType, Object absent, Reading reading) implements ProtobufValue {
        @Override
        public Object read(CodedInputStream input) throws IOException, Unreadable {
            return reading.of(input);
        }
    }

    static ProtobufValue of(DataType type, Metadata metadata) {
        if (type instanceof StructType struct) {
            return new ProtobufMessage(struct);
        }
        if (type instanceof DecimalType decimal) {
            return spelled(new DecimalText(decimal)::read);
        }
        return switch (type.typeName()) {
            case "string" -> text(metadata);
            case "boolean" -> new Scalar(WIRETYPE_VARINT, false, CodedInputStream::readBool);
            case "integer" -> new Scalar(WIRETYPE_VARINT, 0, CodedInputStream::readInt32);
            case "long" -> new Scalar(WIRETYPE_VARINT, 0L, CodedInputStream::readInt64);
            case "float" -> new Scalar(WIRETYPE_FIXED32, 0.0f, CodedInputStream::readFloat);
            case "double" -> new Scalar(WIRETYPE_FIXED64, 0.0, CodedInputStream::readDouble);
            case "binary" -> delimited(new byte[0], CodedInputStream::readByteArray);
            case "date" -> spelled(DateText::days);
            case "timestamp" -> delimited(null, ProtobufTimestamp::read);
            default -> throw Types.unsupported(type, "Protobuf");
        };
    }

    private static ProtobufValue text(Metadata metadata) {
        return switch (Types.meaning(metadata)) {
            case "uuid" -> spelled(UuidText::read);
            case "enum" -> {
                Symbols symbols = Types.symbols(metadata);
                yield spelled((text, start, length) -> symbols.of(new String(text, start, length)));
            }
            default ->
                    delimited(UTF8String.EMPTY_UTF8, input -> UTF8String.fromBytes(utf8(input)));
        };
    }

    private static ProtobufValue delimited(Object absent, Reading reading) {
        return new Scalar(WIRETYPE_LENGTH_DELIMITED, absent, reading);
    }

    /** An empty text is none of these, so a field that was not written is missing. */
    private static ProtobufValue spelled(TextReading reading) {
        return delimited(
                null,
                input -> {
                    char[] text = new String(utf8(input), StandardCharsets.UTF_8).toCharArray();
                    return reading.of(text, 0, text.length);
                });
    }

    private static byte[] utf8(CodedInputStream input) throws IOException, Unreadable {
        byte[] bytes = input.readByteArray();
        Utf8.require(bytes, 0);
        return bytes;
    }
}
