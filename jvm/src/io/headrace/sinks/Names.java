package io.headrace.sinks;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.headrace.operators.Parcel;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.functions;

/** Lists of columns' names. */
public final class Names {
    private Names() {}

    /** Reads a list of names as Python writes it, in JSON. */
    public static List<String> read(String json) {
        try {
            return List.of(new ObjectMapper().readValue(json, String[].class));
        } catch (JsonProcessingException problem) {
            throw new IllegalArgumentException("not a list of names: " + json, problem);
        }
    }

    /** Gives the columns of the names. */
    public static Column[] columns(List<String> names) {
        return names.stream().map(Parcel::quoted).map(functions::col).toArray(Column[]::new);
    }
}
