package io.headrace.postgres;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;

/**
 * Whether a column of a table can take the values of an output's column as they are.
 *
 * <p>What would be rounded or cut without a word does not fit. What the server would refuse, such
 * as a number that is too large, fits: such a row is refused by its key.
 */
final class TypeFit {
    private static final Set<String> TEXTS =
            Set.of(
                    "text", "varchar", "bpchar", "citext", "uuid", "json", "jsonb", "xml", "inet",
                    "cidr", "macaddr");

    private static final Set<String> DOCUMENTS = Set.of("jsonb", "json", "text");

    private static final Map<String, Set<String>> TAKEN =
            Map.ofEntries(
                    Map.entry("boolean", Set.of("bool", "text")),
                    Map.entry("byte", Set.of("int2", "int4", "int8", "numeric", "float8", "text")),
                    Map.entry("short", Set.of("int2", "int4", "int8", "numeric", "float8", "text")),
                    Map.entry(
                            "integer", Set.of("int4", "int8", "int2", "numeric", "float8", "text")),
                    Map.entry("long", Set.of("int8", "int4", "int2", "numeric", "text")),
                    Map.entry("float", Set.of("float4", "float8", "text")),
                    Map.entry("double", Set.of("float8", "text")),
                    Map.entry("timestamp", Set.of("timestamptz", "timestamp", "text")),
                    Map.entry("date", Set.of("date", "timestamptz", "timestamp", "text")),
                    Map.entry("binary", Set.of("bytea")));

    private TypeFit() {}

    /**
     * Decides.
     *
     * @param given the output's type
     * @param found the table's, a domain as what it is a domain of
     */
    static boolean fits(DataType given, Found found) {
        if (given instanceof DecimalType decimal) {
            // Without a modifier, a numeric keeps every digit.
            return found.name().equals("text")
                    || found.name().equals("numeric") && found.scaleAtLeast(decimal.scale());
        }
        return switch (given.typeName()) {
            case "array" -> DOCUMENTS.contains(found.name()) || found.category().equals("A");
            case "struct" -> DOCUMENTS.contains(found.name()) || found.category().equals("C");
            case "timestamp" -> isTaken(given, found) && found.isPreciseTime();
            case "string" -> TEXTS.contains(found.name()) || found.category().equals("E");
            default -> isTaken(given, found);
        };
    }

    private static boolean isTaken(DataType given, Found found) {
        return TAKEN.getOrDefault(given.typeName(), Set.of()).contains(found.name());
    }

    /**
     * A column's type as the catalogue has it.
     *
     * @param name such as {@code int8}
     * @param category as {@code pg_type} tells kinds of types apart; {@code E} are enums
     * @param modifier digits and the like; -1 for none
     */
    record Found(String name, String category, int modifier) {
        private static final int HEADER = 4;
        private static final int SCALE_BITS = 11;
        private static final int MICROSECONDS = 6;

        boolean scaleAtLeast(int wanted) {
            int scale = (modifier - HEADER) & (1 << SCALE_BITS) - 1;
            return modifier < 0 || scale >= wanted;
        }

        boolean isPreciseTime() {
            return name.equals("text") || modifier < 0 || modifier >= MICROSECONDS;
        }
    }
}
