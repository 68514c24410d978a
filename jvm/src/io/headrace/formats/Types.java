package io.headrace.formats;

import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;

/** What Spark's types leave open and a field's metadata says. */
final class Types {
    private static final String MEANING = "headrace";
    private static final Pattern AVRO_NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
    private static final String NUMBER = "number";

    private Types() {}

    /** What a text stands for: {@code uuid}, {@code enum}, or nothing but text. */
    static String meaning(Metadata metadata) {
        return metadata.contains(MEANING) ? metadata.getString(MEANING) : "";
    }

    /** The symbols of an enumeration. */
    static Symbols symbols(Metadata metadata) {
        return new Symbols(List.of(metadata.getStringArray("symbols")));
    }

    /** Whether Avro can name all symbols of an enumeration; otherwise they are texts there. */
    static boolean isAvroEnum(Metadata metadata) {
        if (!meaning(metadata).equals("enum")) {
            return false;
        }
        return Stream.of(metadata.getStringArray("symbols"))
                .allMatch(symbol -> AVRO_NAME.matcher(symbol).matches());
    }

    /** The type of a list's elements, or the type itself where it is no list. */
    static DataType elementOrSelf(StructField field) {
        return field.dataType() instanceof ArrayType list ? list.elementType() : field.dataType();
    }

    /** The number of a field in Protobuf, which is its place unless its metadata says otherwise. */
    static int number(StructField field, int position) {
        Metadata metadata = field.metadata();
        return metadata.contains(NUMBER) ? (int) metadata.getLong(NUMBER) : position + 1;
    }

    static FormatFailure unsupported(DataType type, String format) {
        return new FormatFailure(
                "schema-type-unsupported",
                format + " cannot carry a field of type " + type.simpleString(),
                "the types are text, whole and floating-point numbers, decimals, booleans, "
                        + "timestamps, dates, bytes, lists and nested events.",
                "convert the field with a select step, or leave it out.");
    }
}
