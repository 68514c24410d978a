package io.headrace.delivery;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.InvalidTxnStateException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One transactional writer: what it sends becomes visible together with the ledger record. */
final class Lane implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Lane.class);
    private static final Duration GRACE = Duration.ofSeconds(5);

    private final DeliveryOptions options;
    private final int number;
    private final KafkaProducer<byte[], byte[]> producer;
    private final AtomicReference<Exception> failure = new AtomicReference<>();

    /** The last record that this writer knows to be in the ledger, with nobody in between. */
    private LedgerRecord last;

    private long fencedAt;
    private long begunAt;
    private long restedAt;

    Lane(DeliveryOptions options, int number) {
        this.options = options;
        this.number = number;
        this.producer =
                new KafkaProducer<>(
                        ClientSettings.producer(options, options.transactionalId(number)),
                        new ByteArraySerializer(),
                        new ByteArraySerializer());
    }

    /** Makes this the only writer of the lane, and settles what the one before left open. */
    void fence() {
        try {
            producer.initTransactions();
            fencedAt = System.nanoTime();
        } catch (RuntimeException problem) {
            throw Failures.named(problem, options);
        }
    }

    /** Whether this writer has fenced the other, and not the other way round. */
    boolean fencedAfter(Lane other) {
        return fencedAt - other.fencedAt > 0;
    }

    void beginRest() {
        restedAt = System.nanoTime();
    }

    /** Whether the brokers may have forgotten this writer meanwhile, as they do after days. */
    boolean hasRestedLong() {
        return System.nanoTime() - restedAt > Sweeping.LONG_REST.toNanos();
    }

    String run() {
        return options.run();
    }

    int number() {
        return number;
    }

    LedgerRecord last() {
        return last;
    }

    /** Notes what the ledger was found to end with after the fence. */
    void knows(LedgerRecord record) {
        last = record;
    }

    void begin() {
        begunAt = System.nanoTime();
        failure.set(null);
        producer.beginTransaction();
    }

    void send(ProducerRecord<byte[], byte[]> row) {
        send(row, place -> {});
    }

    /** Sends a row, and has told where it lies once a broker has it. */
    void send(ProducerRecord<byte[], byte[]> row, Consumer<RecordMetadata> placed) {
        // A row that finds no broker waits for a minute before it fails, and so would each one
        // behind it.
        Exception earlier = failure.get();
        if (earlier != null) {
            throw named(earlier);
        }
        try {
            producer.send(
                    row,
                    (place, problem) -> {
                        if (problem == null) {
                            placed.accept(place);
                        } else {
                            failure.compareAndSet(null, problem);
                        }
                    });
        } catch (RuntimeException problem) {
            // Once the brokers have refused a row, the next one fails with a mere echo of it.
            Exception first = failure.get();
            throw named(first == null ? problem : first);
        }
    }

    /** Adds a record to the open transaction, in the ledger of this lane or of another. */
    void sendRecord(LedgerRecord record, int lane) {
        send(
                new ProducerRecord<>(
                        options.progressTopic(),
                        lane,
                        Ledger.keyOf(options, lane),
                        record.toBytes()));
    }

    /** Waits until the brokers have all rows, or fails with what they say of one. */
    void flush() {
        producer.flush();
        Exception problem = failure.get();
        if (problem != null) {
            throw named(problem);
        }
    }

    /** Commits. Whatever goes wrong here leaves in doubt whether it has. */
    void commit(LedgerRecord record) {
        Failpoint.reachDuring("commit-in-doubt");
        try {
            producer.commitTransaction();
        } catch (RuntimeException problem) {
            throw timeliness(problem, Failures.inDoubt(problem, options));
        }
        last = record;
    }

    /** Ends the open transaction, so that readers need not wait for its time-out. */
    void abandon() {
        try {
            producer.abortTransaction();
        } catch (RuntimeException problem) {
            // The next fence aborts it as well; what has gone wrong before is what matters.
            LOG.debug("lane {} could not abort", number, problem);
        }
        producer.close(GRACE);
    }

    /** Leaves without a word: with a commit in doubt, nothing that could undo it may be sent. */
    void drop() {
        producer.close(Duration.ZERO);
    }

    @Override
    public void close() {
        producer.close(GRACE);
    }

    private RuntimeException named(Exception problem) {
        return timeliness(problem, Failures.named(problem, options));
    }

    /** Tells a transaction that the coordinator has ended by itself from one that was fenced. */
    private RuntimeException timeliness(Exception problem, RuntimeException named) {
        long tookMs = (System.nanoTime() - begunAt) / 1_000_000;
        // To a commit that comes too late, a coordinator answers that there is nothing to commit.
        boolean isEnded =
                named instanceof Refusal refusal && refusal.slug().equals("writer-fenced")
                        || Failures.isCausedBy(problem, InvalidTxnStateException.class);
        if (isEnded && tookMs >= ClientSettings.transactionTimeoutMs(options)) {
            return Failures.timedOut(options, tookMs);
        }
        return named;
    }
}
