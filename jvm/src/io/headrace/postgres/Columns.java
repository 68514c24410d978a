package io.headrace.postgres;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The columns of an output: their types in PostgreSQL, and how their JSON is read there. */
final class Columns implements Serializable {
    private static final long serialVersionUID = 1L;

    private final StructType schema;

    Columns(String json) {
        schema = (StructType) DataType.fromJson(json);
    }

    StructField[] fields() {
        return schema.fields();
    }

    boolean has(String column) {
        return List.of(schema.fieldNames()).contains(column);
    }

    boolean isBinary(String column) {
        return schema.apply(column).dataType().typeName().equals("binary");
    }

    /** The columns in order, for a list of them. */
    String names(String prefix) {
        List<String> names = new ArrayList<>();
        for (String name : schema.fieldNames()) {
            names.add(prefix + quoted(name));
        }
        return String.join(", ", names);
    }

    /** What each column gets, from a document {@code h.doc} that was read as a record {@code r}. */
    String values() {
        List<String> values = new ArrayList<>();
        for (StructField field : schema.fields()) {
            // PostgreSQL would take the letters of base64 for the bytes themselves.
            values.add(
                    isBinary(field.name())
                            ? "decode(h.doc->>" + literal(field.name()) + ", 'base64')"
                            : "r." + quoted(field.name()));
        }
        return String.join(", ", values);
    }

    /** Puts each column but those of the key in the place of what is there. */
    String replacements(List<String> keys) {
        List<String> set = new ArrayList<>();
        for (String name : schema.fieldNames()) {
            if (!keys.contains(name)) {
                set.add(quoted(name) + " = excluded." + quoted(name));
            }
        }
        return String.join(", ", set);
    }

    /** The columns as a new table has them. */
    String definition(List<String> keys) {
        List<String> columns = new ArrayList<>();
        for (StructField field : schema.fields()) {
            columns.add(
                    quoted(field.name()) + " " + type(field)
                            + (field.nullable() ? "" : " not null"));
        }
        if (!keys.isEmpty()) {
            columns.add("primary key (" + list(keys) + ")");
        }
        return String.join(", ", columns);
    }

    /** The type that holds all values of a field, and nothing else where that can be said. */
    static String type(StructField field) {
        DataType type = field.dataType();
        if (type instanceof DecimalType decimal) {
            return "numeric(" + decimal.precision() + ", " + decimal.scale() + ")";
        }
        if (type instanceof ArrayType || type instanceof StructType) {
            return "jsonb";
        }
        boolean isMarked = field.metadata().contains("headrace");
        boolean isUuid = isMarked && field.metadata().getString("headrace").equals("uuid");
        return switch (type.typeName()) {
            case "boolean" -> "boolean";
            case "byte", "short" -> "smallint";
            case "integer" -> "integer";
            case "long" -> "bigint";
            case "float" -> "real";
            case "double" -> "double precision";
            case "timestamp" -> "timestamp with time zone";
            case "date" -> "date";
            case "binary" -> "bytea";
            default -> isUuid ? "uuid" : "text";
        };
    }

    /** Columns as statements list them. */
    static String list(List<String> names) {
        return names.stream().map(Columns::quoted).collect(Collectors.joining(", "));
    }

    static String quoted(String name) {
        return "\"" + name.replace("\"", "\"\"") + "\"";
    }

    static String literal(String text) {
        return "'" + text.replace("'", "''") + "'";
    }
}
