package io.headrace.sinks.opensearch;

import com.fasterxml.jackson.databind.JsonNode;
import io.headrace.delivery.SinkTerms;
import io.headrace.sinks.ServerAddress;
import java.io.Serializable;

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

    ServerAddress address() {
        return ServerAddress.parse(terms.settings().get("address"));
    }

    /** The alias that rows are written to and read from. */
    String alias() {
        return terms.settings().get("index");
    }

    /** The mapping of the rows' columns. */
    JsonNode mappings() {
        return Json.read(terms.settings().get("mappings"));
    }

    /** The id of the sink's document among the ledgers. */
    String ledger() {
        return terms.pipeline() + "." + terms.name();
    }
}
