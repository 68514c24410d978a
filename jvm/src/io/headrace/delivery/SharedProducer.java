package io.headrace.delivery;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The producer without transactions that the tasks of one query share in a JVM. */
final class SharedProducer {
    private static final Map<String, SharedProducer> OPEN = new ConcurrentHashMap<>();

    static {
        Sweeping.start(SharedProducer::sweep);
    }

    private final String name;
    private final KafkaProducer<byte[], byte[]> client;

    // Changed only while the map holds its name.
    private int users;
    private long usedAt;

    private SharedProducer(String name, DeliveryOptions options) {
        this.name = name;
        this.client =
                new KafkaProducer<>(
                        ClientSettings.producer(options, null),
                        new ByteArraySerializer(),
                        new ByteArraySerializer());
    }

    static SharedProducer take(DeliveryOptions options) {
        return OPEN.compute(
                name(options),
                (name, open) -> {
                    SharedProducer taken = open == null ? new SharedProducer(name, options) : open;
                    taken.users++;
                    return taken;
                });
    }

    KafkaProducer<byte[], byte[]> client() {
        return client;
    }

    void giveBack() {
        OPEN.computeIfPresent(
                name,
                (name, open) -> {
                    if (open == this) {
                        users--;
                        usedAt = System.nanoTime();
                    }
                    return open;
                });
    }

    /** Lets nobody else take it; those that have it fail and are tried again, as its taker is. */
    void discard() {
        if (OPEN.remove(name, this)) {
            client.close(Duration.ZERO);
        }
    }

    /** Closes the producer that this JVM has for a query that has ended. */
    static void close(DeliveryOptions options) {
        SharedProducer open = OPEN.remove(name(options));
        if (open != null) {
            open.client.close();
        }
    }

    /** Closes what nobody has used for long: an executor is not told that a query has ended. */
    private static void sweep() {
        for (String name : OPEN.keySet()) {
            OPEN.computeIfPresent(
                    name,
                    (same, open) -> {
                        if (open.users > 0
                                || System.nanoTime() - open.usedAt
                                        <= Sweeping.LONG_REST.toNanos()) {
                            return open;
                        }
                        open.client.close();
                        return null;
                    });
        }
    }

    private static String name(DeliveryOptions options) {
        return options.bootstrap() + " " + options.pipeline() + " " + options.query() + " "
                + options.run();
    }
}
