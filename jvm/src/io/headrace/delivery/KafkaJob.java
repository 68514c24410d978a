package io.headrace.delivery;

import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.spark.sql.Encoders;

/** Writes the rows of all topics, dead letters among them, through the same lanes. */
final class KafkaJob implements SinkJob {
    private static final Duration ANSWER = Duration.ofSeconds(10);
    private static final Duration GRACE = Duration.ofSeconds(5);

    private final DeliveryOptions options;

    private Admin admin;
    private OutputTopics topics;
    private GroupOffsets group;

    KafkaJob(DeliveryOptions options) {
        this.options = options;
    }

    @Override
    public List<Integer> places() {
        return IntStream.range(0, options.sinks().size())
                .filter(place -> options.sinks().get(place).isTopic())
                .boxed()
                .toList();
    }

    @Override
    public void prepare() {
        TopicPreparation.run(options);
    }

    @Override
    public List<Receipt> write(OutgoingBatch batch, BatchTerms terms) {
        boolean isFirst = topics == null;
        if (isFirst) {
            open();
        }
        BatchTerms own = terms.into(topics.ids());
        if (!options.isExactlyOnce()) {
            return Receipts.parse(
                    batch.to(places())
                            .mapPartitions(new PlainWriter(options), Encoders.STRING())
                            .collectAsList());
        }
        if (isFirst) {
            Ledgers ledgers = new TopicLedgers(options, topics.progressPartitions());
            new LedgerReview(ledgers, own, options.adopt()).require();
        }
        return new LaneWriter(options, own).run(batch, places());
    }

    /** Shows how far the query has come, once a batch is in all its sinks. */
    void showProgress(SourceOffsets offsets) {
        group.commit(offsets);
    }

    private void open() {
        admin = Admin.create(ClientSettings.admin(options));
        topics = new OutputTopics(options, admin);
        group = new GroupOffsets(options.group(), admin);
    }

    @Override
    public void close() {
        if (admin != null) {
            group.settle(ANSWER);
            Lanes.close(options);
            SharedProducer.close(options);
            admin.close(GRACE);
            admin = null;
        }
    }
}
