package io.headrace.formats;

import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** The options that Python gives for one side of one topic, by name. */
final class FormatOptions implements Serializable {
    private static final long serialVersionUID = 1L;

    private final HashMap<String, String> given;

    FormatOptions(Map<String, String> given) {
        this.given = new HashMap<>(given);
    }

    /** Which column holds the bytes: {@code value} or {@code key}. */
    String what() {
        return given.getOrDefault("what", "value");
    }

    /** Whether a null is an event without fields instead of a dead letter. */
    boolean keepsTombstones() {
        return "keep".equals(given.get("tombstones"));
    }

    /** The most bytes that are read. */
    int maxBytes(int unlessGiven) {
        String text = given.get("max_bytes");
        return text == null ? unlessGiven : Integer.parseInt(text);
    }

    /** How far an event may lie ahead of its record; null if that is not looked at. */
    Ahead ahead(StructType schema) {
        String time = given.get("time");
        String micros = given.get("ahead_us");
        return time == null || micros == null
                ? null
                : new Ahead(time, schema.fieldIndex(time), Long.parseLong(micros));
    }

    /** The schema of what is written, with what Spark's own schema of a column leaves out. */
    StructType schema(StructType unlessGiven) {
        String json = given.get("schema");
        return json == null ? unlessGiven : (StructType) DataType.fromJson(json);
    }

    /** Makes the reader of the format. */
    Reader reader(StructType schema) {
        return switch (format()) {
            case "json" -> new JsonReader(schema, 0);
            case "json-schema" -> new JsonSchemaReader(schema, registry());
            case "avro" -> new AvroReader(schema, registry());
            case "protobuf" -> new ProtobufReader(schema, registry());
            default -> throw unknownFormat();
        };
    }

    /** Makes the writer of the format. */
    Writer writer(StructType schema) {
        return switch (format()) {
            case "json" -> new JsonWriter(schema, new byte[0]);
            case "json-schema" -> new JsonWriter(schema, header());
            case "avro" -> new AvroWriter(schema, header());
            case "protobuf" -> new ProtobufWriter(schema, header());
            default -> throw unknownFormat();
        };
    }

    private String format() {
        return given.getOrDefault("format", "json");
    }

    private Registry registry() {
        return Registry.at(required("registry"));
    }

    private byte[] header() {
        return WireHeader.of(Integer.parseUnsignedInt(required("schema_id")));
    }

    private String required(String option) {
        String value = given.get(option);
        if (value == null) {
            throw new IllegalArgumentException(format() + " needs the option " + option);
        }
        return value;
    }

    private IllegalArgumentException unknownFormat() {
        return new IllegalArgumentException("there is no format " + format());
    }

    /** Shows a plan's reader the format and the column, and no address. */
    @Override
    public String toString() {
        return format() + " " + what();
    }
}
