package io.headrace.sinks.redis;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.headrace.delivery.SinkTerms;
import io.headrace.sinks.ServerAddress;
import io.headrace.sinks.ServerCalls;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** What a Redis sink was told, read by name. */
final class RedisTerms implements Serializable {
    private static final long serialVersionUID = 1L;

    private final SinkTerms terms;

    RedisTerms(SinkTerms terms) {
        this.terms = terms;
    }

    String sink() {
        return terms.name();
    }

    /** How long a lane goes on calling a server that is away. */
    Duration lanePatience() {
        String given = terms.settings().get("lane_patience_ms");
        return given == null ? ServerCalls.IN_LANE : Duration.ofMillis(Long.parseLong(given));
    }

    /** How long the server may be silent; a script of somebody else's may hold it for a while. */
    Duration silence() {
        String given = terms.settings().getOrDefault("silence_ms", "30000");
        return Duration.ofMillis(Long.parseLong(given));
    }

    ServerAddress address() {
        return ServerAddress.parse(terms.settings().get("address"));
    }

    /** What the keys of all rows begin with. */
    byte[] prefix() {
        return (terms.settings().get("keyspace") + ":").getBytes(StandardCharsets.UTF_8);
    }

    boolean isHash() {
        return terms.settings().get("as").equals("hash");
    }

    /** How long a row lives after it was written, in milliseconds; 0 for ever. */
    long ttlMs() {
        return Long.parseLong(terms.settings().getOrDefault("ttl_ms", "0"));
    }

    /** The column that older rows are told by, or null. */
    String version() {
        return terms.settings().get("version");
    }

    /** The type of that column as Spark names it, or null. */
    String versionType() {
        for (JsonNode field : columns()) {
            if (field.get("name").asText().equals(version())) {
                return field.get("type").isTextual()
                        ? field.get("type").asText()
                        : field.get("type").get("type").asText();
            }
        }
        return null;
    }

    private JsonNode columns() {
        try {
            return new ObjectMapper().readTree(terms.settings().get("columns")).get("fields");
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    byte[] ledger() {
        String name = "headrace:ledger:" + terms.pipeline() + "." + terms.name();
        return name.getBytes(StandardCharsets.UTF_8);
    }
}
