package io.headrace.sinks.lake;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.functions;
import io.headrace.operators.Parcel;

/** Lists of columns' names. */
final class Names {
    private Names() {}

    /** Reads a list of names as Python writes it, in JSON. */
    static List<String> read(String json) {
        try {
            return List.of(new ObjectMapper().readValue(json, String[].class));
        } catch (JsonProcessingException problem) {
            throw new IllegalArgumentException("not a list of names: " + json, problem);
        }
    }

    static Column[] columns(List<String> names) {
        return names.stream().map(Parcel::quoted).map(functions::col).toArray(Column[]::new);
    }
}
