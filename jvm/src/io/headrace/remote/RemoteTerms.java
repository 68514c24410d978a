package io.headrace.remote;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * What was declared of a join with a remote table.
 *
 * @param name what its metrics and messages are called by
 * @param run tells one start of a pipeline from another
 * @param system which kind of server it is
 * @param settings where the table is, as a sink of that kind is told
 * @param row the columns of its rows
 * @param key the column of the events by which rows are asked for
 * @param tableKey that of the table
 * @param isApart whether events without a row are set apart
 * @param tellsMissing whether an event without a row is told at all
 * @param cached how many answers each process keeps at the most
 * @param freshMs for how long it keeps them
 * @param timeoutMs how long one question may take
 * @param patienceMs how long it is asked again before the batch fails
 */
public record RemoteTerms(
        String name,
        String run,
        String system,
        Map<String, String> settings,
        StructType row,
        String key,
        String tableKey,
        boolean isApart,
        boolean tellsMissing,
        int cached,
        long freshMs,
        int timeoutMs,
        long patienceMs)
        implements Serializable {
    static RemoteTerms parse(String json) {
        JsonNode told;
        try {
            told = new ObjectMapper().readTree(json);
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException("the terms of a join are not JSON", error);
        }
        Map<String, String> settings = new HashMap<>();
        told.get("settings")
                .properties()
                .forEach(each -> settings.put(each.getKey(), each.getValue().asText()));
        return new RemoteTerms(
                told.get("name").asText(),
                told.get("run").asText(),
                told.get("system").asText(),
                settings,
                (StructType) DataType.fromJson(told.get("row").toString()),
                told.get("key").asText(),
                told.get("table_key").asText(),
                told.get("missing").asText().equals("side-output"),
                told.get("tells_missing").asBoolean(),
                told.get("cached").asInt(),
                told.get("fresh_ms").asLong(),
                told.get("timeout_ms").asInt(),
                told.get("patience_ms").asLong());
    }
}
