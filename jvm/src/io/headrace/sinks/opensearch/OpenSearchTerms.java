package io.headrace.sinks.opensearch;

import com.fasterxml.jackson.databind.JsonNode;
import io.headrace.delivery.SinkTerms;
import io.headrace.sinks.ServerAddress;
import io.headrace.sinks.ServerCalls;
import java.io.Serializable;
import java.time.Duration;
import java.util.Set;

/** What an OpenSearch sink was told, read by name. */
final class OpenSearchTerms implements Serializable {
    private static final long serialVersionUID = 1L;

    private final SinkTerms terms;

    OpenSearchTerms(SinkTerms terms) {
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

    /** How long the server may take for one answer, to its last byte. */
    Duration silence() {
        String given = terms.settings().getOrDefault("silence_ms", "60000");
        return Duration.ofMillis(Long.parseLong(given));
    }

    ServerAddress address() {
        return ServerAddress.parse(terms.settings().get("address"));
    }

    /** The alias that rows are written to and read from. */
    String alias() {
        return terms.settings().get("index");
    }

    /** The columns of the rows, as Spark writes a schema. */
    JsonNode columns() {
        return Json.read(terms.settings().get("columns"));
    }

    /** The columns whose words can be searched for. */
    Set<String> fullText() {
        String named = terms.settings().getOrDefault("full_text", "");
        return named.isEmpty() ? Set.of() : Set.of(named.split(","));
    }

    /** The id of the sink's document among the ledgers. */
    String ledger() {
        return terms.pipeline() + "." + terms.name();
    }
}
