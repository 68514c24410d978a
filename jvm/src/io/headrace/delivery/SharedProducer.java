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

    private int users;
    private long usedAt;
    private boolean isDiscarded;

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
                    taken.enter();
                    return taken;
                });
    }

    /** Leaves all that are open here as they are, as the end of a process does. */
    static void forget() {
        OPEN.clear();
    }

    KafkaProducer<byte[], byte[]> client() {
        return client;
    }

    private synchronized void enter() {
        users++;
    }

    synchronized void giveBack() {
        users--;
        usedAt = System.nanoTime();
        if (isDiscarded && users == 0) {
            client.close(Duration.ZERO);
        }
    }

    /** Lets nobody else take it: what broke it may break every task after this one. */
    void discard() {
        OPEN.remove(name, this);
        synchronized (this) {
            isDiscarded = true;
        }
    }

    private synchronized boolean isIdle() {
        return users == 0 && System.nanoTime() - usedAt > Sweeping.LONG_REST.toNanos();
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
                        if (open.isIdle()) {
                            open.client.close();
                            return null;
                        }
                        return open;
                    });
        }
    }

    private static String name(DeliveryOptions options) {
        return options.bootstrap() + " " + options.pipeline() + " " + options.query() + " "
                + options.run();
    }
}
