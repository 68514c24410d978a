package io.headrace.delivery;

import java.util.Collections;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;

/** Writes a task's rows at least once: without lanes, ledger or transaction. */
final class PlainWriter implements MapPartitionsFunction<Row, String> {
    private static final long serialVersionUID = 1L;

    /** One for each query in a JVM: a producer may be used by several tasks at once. */
    private static final Map<String, KafkaProducer<byte[], byte[]>> OPEN =
            new ConcurrentHashMap<>();

    private final DeliveryOptions options;

    PlainWriter(DeliveryOptions options) {
        this.options = options;
    }

    @Override
    public Iterator<String> call(Iterator<Row> rows) {
        Phases phases = new Phases();
        KafkaProducer<byte[], byte[]> producer =
                OPEN.computeIfAbsent(name(options), name -> open(options));
        AtomicReference<Exception> failure = new AtomicReference<>();
        Tally tally = new Tally(options.sinks().size());
        try {
            while (rows.hasNext() && failure.get() == null) {
                Row row = rows.next();
                tally.add(row);
                producer.send(
                        OutgoingRows.toKafka(row, options.sinks()),
                        (place, problem) -> failure.compareAndSet(null, problem));
            }
            producer.flush();
            if (failure.get() != null) {
                throw Failures.named(failure.get(), options);
            }
        } catch (Refusal refusal) {
            if (refusal.isFinal()) {
                return Collections.singleton(Receipt.refused(refusal)).iterator();
            }
            throw refusal;
        }
        phases.end("rows");
        int part = TaskContext.getPartitionId();
        Receipt receipt = new Receipt(part, false, tally.rows(), phases.millis());
        return Collections.singleton(receipt.toJson()).iterator();
    }

    /** Closes the producer of a query that has ended. */
    static void close(DeliveryOptions options) {
        KafkaProducer<byte[], byte[]> producer = OPEN.remove(name(options));
        if (producer != null) {
            producer.close();
        }
    }

    private static KafkaProducer<byte[], byte[]> open(DeliveryOptions options) {
        return new KafkaProducer<>(
                ClientSettings.producer(options, null),
                new ByteArraySerializer(),
                new ByteArraySerializer());
    }

    private static String name(DeliveryOptions options) {
        return options.bootstrap() + " " + options.pipeline() + " " + options.query();
    }
}
