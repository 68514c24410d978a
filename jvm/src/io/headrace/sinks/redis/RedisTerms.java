package io.headrace.sinks.redis;

import io.headrace.delivery.SinkTerms;
import io.headrace.sinks.ServerAddress;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;

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

    byte[] ledger() {
        String name = "headrace:ledger:" + terms.pipeline() + "." + terms.name();
        return name.getBytes(StandardCharsets.UTF_8);
    }
}
