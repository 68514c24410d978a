package io.headrace.formats;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A fault that is not one value's: the batch has to fail, and the user to be told.
 *
 * <p>Spark wraps what a task throws into texts of its own. The message holds the error on one line
 * of JSON behind a fixed word, so that Python finds it in any of them and raises it by its name.
 */
public final class FormatFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Makes the failure; the arguments are those of a {@code SchemaError} in Python. */
    FormatFailure(String slug, String fact, String detail, String hint) {
        super(message(slug, fact, detail, hint));
    }

    private static String message(String slug, String fact, String detail, String hint) {
        Map<String, String> error = new LinkedHashMap<>();
        error.put("error", "SchemaError");
        error.put("slug", slug);
        error.put("fact", fact);
        error.put("detail", detail);
        error.put("hint", hint);
        try {
            return "headrace-refusal " + new ObjectMapper().writeValueAsString(error);
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
