package io.headrace.formats;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.function.LongFunction;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.Schema.Type;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.unsafe.types.UTF8String;

/** The pairs of types that hold no others; a pair that is not here cannot be read. */
final class AvroScalars {
    /** Far more bytes than 38 digits have, and few enough to compute with. */
    private static final int LONGEST_DECIMAL = 256;

    private AvroScalars() {}

    static AvroValue of(Schema writer, DataType type, Metadata metadata) throws Unreadable {
        AvroValue value = type instanceof DecimalType decimal
                ? decimal(writer, decimal)
                : switch (type.typeName()) {
                    case "string" -> text(writer, metadata);
                    case "binary" -> bytes(writer);
                    case "boolean" -> only(writer, Type.BOOLEAN, in -> in.decoder().readBoolean());
                    case "byte" -> whole(writer, Byte.MIN_VALUE, Byte.MAX_VALUE, n -> (byte) n);
                    case "short" -> whole(writer, Short.MIN_VALUE, Short.MAX_VALUE, n -> (short) n);
                    case "integer" ->
                            whole(writer, Integer.MIN_VALUE, Integer.MAX_VALUE, n -> (int) n);
                    case "long" -> whole(writer, Long.MIN_VALUE, Long.MAX_VALUE, n -> n);
                    case "float" -> only(writer, Type.FLOAT, in -> in.decoder().readFloat());
                    case "double" -> floating(writer);
                    case "timestamp" -> timestamp(writer);
                    case "date" -> date(writer);
                    default -> null;
                };
        if (value == null) {
            throw new Unreadable(
                    Reason.SCHEMA_NOT_COMPATIBLE,
                    type.simpleString() + " is required, the writer's type is " + named(writer));
        }
        return value;
    }

    private static String named(Schema writer) {
        LogicalType logical = writer.getLogicalType();
        String name = writer.getType().getName();
        return logical == null ? name : name + " (" + logical.getName() + ")";
    }

    private static AvroValue only(Schema writer, Type type, AvroValue value) {
        return writer.getType() == type ? value : null;
    }

    private static AvroValue text(Schema writer, Metadata metadata) {
        String meaning = Types.meaning(metadata);
        if (meaning.equals("enum")) {
            return symbol(writer, Types.symbols(metadata));
        }
        if (meaning.equals("uuid") && writer.getType() == Type.FIXED) {
            return writer.getFixedSize() == 2 * Long.BYTES ? AvroScalars::uuid : null;
        }
        if (meaning.equals("uuid")) {
            return only(
                    writer,
                    Type.STRING,
                    in -> {
                        char[] text = chars(in.text());
                        return UuidText.read(text, 0, text.length);
                    });
        }
        return only(writer, Type.STRING, in -> UTF8String.fromBytes(in.text()));
    }

    private static AvroValue symbol(Schema writer, Symbols symbols) {
        if (writer.getType() != Type.ENUM) {
            return only(
                    writer,
                    Type.STRING,
                    in -> symbols.of(new String(in.text(), StandardCharsets.UTF_8)));
        }
        int count = writer.getEnumSymbols().size();
        return in -> {
            int index = in.decoder().readEnum();
            if (index < 0 || index >= count) {
                throw new Unreadable(Reason.AVRO_MALFORMED, "its enum has no symbol " + index);
            }
            return symbols.of(writer.getEnumSymbols().get(index));
        };
    }

    private static Object uuid(AvroInput in) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(in.fixed(2 * Long.BYTES));
        return UTF8String.fromString(new UUID(bytes.getLong(), bytes.getLong()).toString());
    }

    private static char[] chars(byte[] text) {
        return new String(text, StandardCharsets.UTF_8).toCharArray();
    }

    private static AvroValue bytes(Schema writer) {
        if (writer.getType() == Type.FIXED) {
            int size = writer.getFixedSize();
            return in -> in.fixed(size);
        }
        return only(writer, Type.BYTES, AvroInput::bytes);
    }

    private static AvroValue whole(
            Schema writer, long smallest, long largest, LongFunction<Object> boxed) {
        if (!isWhole(writer) || writer.getLogicalType() != null) {
            return null;
        }
        return in -> {
            long number = whole(writer, in);
            if (number < smallest || number > largest) {
                throw new Unreadable(
                        Reason.NUMBER_OUT_OF_RANGE,
                        "a number from " + smallest + " to " + largest + " is required, "
                                + number + " came");
            }
            return boxed.apply(number);
        };
    }

    private static boolean isWhole(Schema writer) {
        return writer.getType() == Type.INT || writer.getType() == Type.LONG;
    }

    private static long whole(Schema writer, AvroInput in) throws IOException {
        return writer.getType() == Type.INT ? in.decoder().readInt() : in.decoder().readLong();
    }

    private static AvroValue floating(Schema writer) {
        return switch (writer.getType()) {
            case DOUBLE -> in -> in.decoder().readDouble();
            case FLOAT -> in -> (double) in.decoder().readFloat();
            case INT -> in -> (double) in.decoder().readInt();
            case LONG -> in -> (double) in.decoder().readLong();
            default -> null;
        };
    }

    private static AvroValue timestamp(Schema writer) {
        String unit = writer.getLogicalType() == null ? "" : writer.getLogicalType().getName();
        return switch (unit) {
            case "timestamp-micros" -> in -> in.decoder().readLong();
            case "timestamp-millis" ->
                    in -> {
                        long millis = in.decoder().readLong();
                        if (Math.abs(millis) > Long.MAX_VALUE / 1000) {
                            throw new Unreadable(
                                    Reason.TIMESTAMP_UNREADABLE, millis + " ms is no year");
                        }
                        return millis * 1000;
                    };
            case "timestamp-nanos" -> in -> Math.floorDiv(in.decoder().readLong(), 1000L);
            default -> null;
        };
    }

    private static AvroValue date(Schema writer) {
        boolean date = writer.getLogicalType() instanceof LogicalTypes.Date;
        return date ? in -> in.decoder().readInt() : null;
    }

    private static AvroValue decimal(Schema writer, DecimalType type) {
        DecimalText decimals = new DecimalText(type);
        AvroValue bytes = bytes(writer);
        if (bytes == null || !(writer.getLogicalType() instanceof LogicalTypes.Decimal written)) {
            return null;
        }
        return in -> {
            byte[] unscaled = (byte[]) bytes.read(in);
            if (unscaled.length == 0 || unscaled.length > LONGEST_DECIMAL) {
                throw decimals.outOfRange("one of " + unscaled.length + " bytes");
            }
            BigDecimal number = new BigDecimal(new BigInteger(unscaled), written.getScale());
            Decimal fitted = decimals.fitted(number);
            if (fitted == null) {
                throw decimals.outOfRange(Shown.line(number.toString(), 40));
            }
            return fitted;
        };
    }
}
