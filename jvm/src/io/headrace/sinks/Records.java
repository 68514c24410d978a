package io.headrace.sinks;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.headrace.delivery.LedgerRecord;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.TreeMap;

/** The records of a ledger as JSON, in which two are equal if they say the same. */
public final class Records {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Records() {}

    public static JsonNode json(LedgerRecord record) {
        try {
            return MAPPER.readTree(record.toBytes());
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    /** All of them, by lane. */
    public static Map<Integer, JsonNode> json(Map<Integer, LedgerRecord> records) {
        Map<Integer, JsonNode> found = new TreeMap<>();
        records.forEach((lane, record) -> found.put(lane, json(record)));
        return found;
    }
}
