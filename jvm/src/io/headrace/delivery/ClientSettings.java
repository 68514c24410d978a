package io.headrace.delivery;

import java.util.HashMap;
import java.util.Map;

/** The settings of our Kafka clients: for speed where the user may differ, for safety where not. */
final class ClientSettings {
    static final int TRANSACTION_TIMEOUT_MS = 120_000;

    private ClientSettings() {}

    /** A producer that sends each row once and in order, within one transactional id or none. */
    static Map<String, Object> producer(DeliveryOptions options, String transactionalId) {
        Map<String, Object> settings = new HashMap<>();
        // A batch's rows come in one burst and a flush ends them, so waiting costs nothing and
        // fills the requests.
        settings.put("linger.ms", 20);
        settings.put("batch.size", 256 * 1024);
        settings.put("buffer.memory", 64L * 1024 * 1024);
        settings.put("compression.type", "lz4");
        settings.put("transaction.timeout.ms", TRANSACTION_TIMEOUT_MS);
        settings.putAll(options.client());
        settings.putAll(always(options));
        settings.put("acks", "all");
        settings.put("enable.idempotence", true);
        // Above five, the broker could not tell a repetition from a new row.
        settings.put("max.in.flight.requests.per.connection", 5);
        if (transactionalId == null) {
            settings.remove("transaction.timeout.ms");
        } else {
            settings.put("transactional.id", transactionalId);
            settings.put("client.id", transactionalId);
        }
        return settings;
    }

    static Map<String, Object> committedReader(DeliveryOptions options) {
        Map<String, Object> settings = new HashMap<>(options.client());
        settings.putAll(always(options));
        settings.put("isolation.level", "read_committed");
        settings.put("enable.auto.commit", false);
        settings.put("auto.offset.reset", "none");
        // The record is there or it is not; nothing is gained by letting the broker gather more.
        settings.put("fetch.max.wait.ms", 20);
        // Consumers without a group send it nothing, and Kafka warns of a group id of none.
        settings.remove("group.id");
        return settings;
    }

    static Map<String, Object> admin(DeliveryOptions options) {
        Map<String, Object> settings = new HashMap<>(options.client());
        settings.putAll(always(options));
        return settings;
    }

    /** How long a transaction may take before the coordinator ends it. */
    static long transactionTimeoutMs(DeliveryOptions options) {
        String given = options.client().get("transaction.timeout.ms");
        return given == null ? TRANSACTION_TIMEOUT_MS : Long.parseLong(given);
    }

    private static Map<String, Object> always(DeliveryOptions options) {
        return Map.of(
                "bootstrap.servers",
                options.bootstrap(),
                "client.id",
                "headrace." + options.pipeline(),
                // A broker that restarts is back in a second or two; the default of 1 s between
                // attempts at the end would add to it.
                "reconnect.backoff.max.ms",
                500);
    }
}
