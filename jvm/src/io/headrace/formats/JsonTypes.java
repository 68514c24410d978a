package io.headrace.formats;

import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;

/** Finds the reader of each type of an event's fields. */
final class JsonTypes {
    private JsonTypes() {}

    static JsonValue of(DataType type, Metadata metadata) {
        if (type instanceof StructType struct) {
            return new JsonStruct(struct);
        }
        if (type instanceof ArrayType list) {
            return new JsonList(list, metadata);
        }
        if (type instanceof DecimalType decimal) {
            return JsonScalars.decimal(decimal);
        }
        return switch (type.typeName()) {
            case "string" -> text(metadata);
            case "boolean" -> JsonScalars.truth();
            case "byte" ->
                    JsonScalars.whole(Byte.MIN_VALUE, Byte.MAX_VALUE, number -> (byte) number);
            case "short" ->
                    JsonScalars.whole(Short.MIN_VALUE, Short.MAX_VALUE, number -> (short) number);
            case "integer" ->
                    JsonScalars.whole(Integer.MIN_VALUE, Integer.MAX_VALUE, number -> (int) number);
            case "long" -> JsonScalars.whole(Long.MIN_VALUE, Long.MAX_VALUE, number -> number);
            case "float" -> JsonScalars.floating(true);
            case "double" -> JsonScalars.floating(false);
            case "timestamp" -> JsonScalars.timestamp();
            case "date" -> JsonScalars.date();
            case "binary" -> JsonScalars.bytes();
            default -> throw Types.unsupported(type, "JSON");
        };
    }

    private static JsonValue text(Metadata metadata) {
        return switch (Types.meaning(metadata)) {
            case "uuid" -> JsonScalars.uuid();
            case "enum" -> JsonScalars.symbol(Types.symbols(metadata));
            default -> JsonScalars.text();
        };
    }
}
