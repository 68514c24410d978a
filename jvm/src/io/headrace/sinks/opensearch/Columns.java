package io.headrace.sinks.opensearch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.headrace.delivery.Refusal;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Maps the columns of rows to the fields of documents. */
final class Columns {
    private static final Pattern DECIMAL = Pattern.compile("decimal\\((\\d+),(\\d+)\\)");

    /** So many digits a double holds exactly, through which OpenSearch scales numbers. */
    private static final int EXACT_DIGITS = 15;

    /** So many characters of four bytes fit into a term; longer texts are kept, and not found. */
    private static final int LONGEST_TERM = 8_191;

    private Columns() {}

    /**
     * Gives the mapping of a sink's rows.
     *
     * @throws Refusal {@code sink-mismatch} if a column cannot be a field
     */
    static ObjectNode mapping(OpenSearchTerms terms) {
        ObjectNode mapping = struct(terms.columns(), "", terms);
        // What is not a column cannot come, and must not be guessed at if it does.
        return mapping.put("dynamic", false);
    }

    private static ObjectNode struct(JsonNode struct, String path, OpenSearchTerms terms) {
        ObjectNode mapping = Json.object();
        ObjectNode properties = mapping.putObject("properties");
        for (JsonNode field : struct.get("fields")) {
            String name = field.get("name").asText();
            if (name.contains(".") || name.isBlank()) {
                throw unfit(path + name, "its name has a dot, which is a path there", terms);
            }
            properties.set(name, field(field.get("type"), path + name, terms));
        }
        return mapping;
    }

    private static ObjectNode field(JsonNode type, String path, OpenSearchTerms terms) {
        if (type.isTextual()) {
            return scalar(type.asText(), path, terms);
        }
        if (type.get("type").asText().equals("struct")) {
            return struct(type, path + ".", terms);
        }
        if (!type.get("type").asText().equals("array")) {
            throw unfit(path, "there is no field of type " + type.get("type").asText(), terms);
        }
        // A field may have any number of values, so a list needs no word of its own.
        ObjectNode element = field(type.get("elementType"), path, terms);
        // The fields of one element belong together, which an object in a list forgets.
        return element.has("properties") ? element.put("type", "nested") : element;
    }

    private static ObjectNode scalar(String type, String path, OpenSearchTerms terms) {
        ObjectNode field = Json.object();
        Matcher decimal = DECIMAL.matcher(type);
        if (decimal.matches()) {
            return decimal(
                    Integer.parseInt(decimal.group(1)), Integer.parseInt(decimal.group(2)));
        }
        return switch (type) {
            case "string" -> terms.fullText().contains(path) ? text() : keyword();
            case "byte", "short", "integer", "long" -> field.put("type", "long");
            case "float", "double" -> field.put("type", "double");
            case "boolean" -> field.put("type", "boolean");
            // In milliseconds: date_nanos refuses what lies before 1970 or after 2262.
            case "timestamp" ->
                    field.put("type", "date").put("format", "strict_date_optional_time");
            case "date" -> field.put("type", "date").put("format", "strict_date");
            case "binary" -> field.put("type", "binary");
            default -> throw unfit(path, "there is no field of type " + type, terms);
        };
    }

    private static ObjectNode decimal(int precision, int scale) {
        if (precision > EXACT_DIGITS) {
            return keyword();
        }
        return Json.object()
                .put("type", "scaled_float")
                .put("scaling_factor", Math.pow(10, scale));
    }

    private static ObjectNode keyword() {
        return Json.object().put("type", "keyword").put("ignore_above", LONGEST_TERM);
    }

    private static ObjectNode text() {
        ObjectNode field = Json.object().put("type", "text");
        field.putObject("fields").set("keyword", keyword());
        return field;
    }

    private static Refusal unfit(String path, String why, OpenSearchTerms terms) {
        return Refusal.of(
                "sink-mismatch",
                "column \"" + path + "\" cannot be a field of \"" + terms.alias() + "\"",
                why + ".",
                "rename it, leave it out, or give it another type, with select(...) or "
                        + "rename(...).");
    }
}
