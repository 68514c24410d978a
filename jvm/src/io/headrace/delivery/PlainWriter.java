package io.headrace.delivery;

import java.util.Collections;
import java.util.Iterator;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;

/** Writes a task's rows at least once: without lanes, ledger or transaction. */
final class PlainWriter implements MapPartitionsFunction<Row, String> {
    private static final long serialVersionUID = 1L;

    private final DeliveryOptions options;

    PlainWriter(DeliveryOptions options) {
        this.options = options;
    }

    @Override
    public Iterator<String> call(Iterator<Row> rows) {
        Phases phases = new Phases();
        Tally tally = new Tally(options.sinks().size());
        SharedProducer producer = SharedProducer.take(options);
        try {
            write(producer, rows, tally);
        } catch (Refusal refusal) {
            if (refusal.isFinal()) {
                return Collections.singleton(Receipt.refused(refusal)).iterator();
            }
            producer.discard();
            throw refusal;
        } finally {
            producer.giveBack();
        }
        phases.end("rows");
        int part = TaskContext.getPartitionId();
        Receipt receipt = new Receipt(part, false, tally.rows(), phases.millis());
        return Collections.singleton(receipt.toJson()).iterator();
    }

    private void write(SharedProducer producer, Iterator<Row> rows, Tally tally) {
        AtomicReference<Exception> failure = new AtomicReference<>();
        while (rows.hasNext() && failure.get() == null) {
            Row row = rows.next();
            tally.add(row);
            producer.client()
                    .send(
                            OutgoingRows.toKafka(row, options.sinks()),
                            (place, problem) -> failure.compareAndSet(null, problem));
        }
        producer.client().flush();
        if (failure.get() != null) {
            throw Failures.named(failure.get(), options);
        }
    }
}
