package io.headrace.groups;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * What was declared of a group.
 *
 * @param name what its state and metrics are called by
 * @param totals what is told of each group, in order
 * @param declared stands for the declaration: other totals have another one
 * @param pageBytes how large a page of values may be
 */
record GroupTerms(String name, List<Wanted> totals, long declared, int pageBytes)
        implements Serializable {
    private static final long serialVersionUID = 1L;

    /** The functions that a total can be of. */
    enum Function {
        ROWS,
        COUNT,
        SUM,
        AVG,
        MIN,
        MAX,
        DISTINCT;

        /** Whether it has to know each value by itself. */
        boolean isOfValues() {
            return this == MIN || this == MAX || this == DISTINCT;
        }
    }

    /**
     * A total.
     *
     * @param function what it is
     * @param value which of a row's values it is of; {@link Function#ROWS} is of none
     */
    record Wanted(Function function, int value) implements Serializable {
        private static final long serialVersionUID = 1L;
    }

    static GroupTerms parse(String json) {
        JsonNode told;
        try {
            told = new ObjectMapper().readTree(json);
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException("the terms of a group are not JSON", error);
        }
        List<Wanted> totals = new ArrayList<>();
        for (JsonNode total : told.get("totals")) {
            String function = total.get("function").asText().toUpperCase();
            totals.add(new Wanted(Function.valueOf(function), total.get("value").asInt()));
        }
        return new GroupTerms(
                told.get("name").asText(),
                totals,
                told.get("declared").asLong(),
                told.get("page_bytes").asInt());
    }
}
