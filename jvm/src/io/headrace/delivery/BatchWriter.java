package io.headrace.delivery;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.kafka.clients.admin.Admin;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** Delivers each batch of one query: the driver's part, which starts the lanes and hears them. */
final class BatchWriter implements VoidFunction2<Dataset<Row>, Long>, AutoCloseable {
    private static final long serialVersionUID = 1L;

    private static final Duration GRACE = Duration.ofSeconds(5);

    private final DeliveryOptions options;
    private final transient Report report;
    private final transient DeadLetterLimit deadLetters;

    private transient Admin admin;
    private transient OutputTopics topics;
    private transient GroupOffsets group;
    private transient Checkpoint checkpoint;
    private transient String lineage;

    BatchWriter(DeliveryOptions options, Report report) {
        this.options = options;
        this.report = report;
        this.deadLetters = new DeadLetterLimit(options);
    }

    @Override
    public void call(Dataset<Row> batch, Long number) {
        Failpoint.reach("after-offsets");
        long begunAt = System.nanoTime();
        boolean isFirst = lineage == null;
        if (isFirst) {
            open(batch.sparkSession());
        }
        SourceOffsets offsets = checkpoint.offsets(number);
        BatchTerms terms =
                new BatchTerms(lineage, number, options.lanes(), offsets, topics.ids());
        List<Receipt> receipts;
        if (options.isExactlyOnce()) {
            if (isFirst) {
                new LedgerReview(options, terms, topics.progressPartitions()).require();
            }
            receipts = writeLanes(batch, terms);
        } else {
            receipts = writePlainly(batch);
        }
        long[] rows = report.add(number, receipts, (System.nanoTime() - begunAt) / 1e6);
        group.commit(offsets);
        deadLetters.count(rows);
        Failpoint.reach("before-spark-commit");
    }

    private void open(SparkSession spark) {
        checkpoint =
                new Checkpoint(
                        options.checkpoint(), spark.sparkContext().hadoopConfiguration());
        lineage = checkpoint.lineage();
        admin = Admin.create(ClientSettings.admin(options));
        topics = new OutputTopics(options, admin);
        group = new GroupOffsets(options.group(), admin);
        QueryEnd.watch(lineage, this);
    }

    private List<Receipt> writePlainly(Dataset<Row> batch) {
        return read(
                OutgoingRows.of(batch)
                        .mapPartitions(new PlainWriter(options), Encoders.STRING())
                        .collectAsList());
    }

    private List<Receipt> writeLanes(Dataset<Row> batch, BatchTerms terms) {
        LaneWriter writer = new LaneWriter(options, terms);
        List<String> told =
                OutgoingRows.inLanes(batch, terms.lanes())
                        .mapPartitions(writer, Encoders.STRING())
                        .collectAsList();
        if (told.isEmpty()) {
            // A plan that Spark knows to be empty has no tasks; the ledger wants its records.
            told =
                    new JavaSparkContext(batch.sparkSession().sparkContext())
                            .parallelize(Collections.<Row>emptyList(), terms.lanes())
                            .mapPartitions(writer)
                            .collect();
        }
        List<Receipt> receipts = read(told);
        if (receipts.size() != terms.lanes()) {
            throw new IllegalStateException(
                    receipts.size() + " receipts from " + terms.lanes() + " lanes");
        }
        return receipts;
    }

    private static List<Receipt> read(List<String> told) {
        List<Receipt> receipts = new ArrayList<>();
        told.forEach(text -> receipts.add(Receipt.parse(text)));
        return receipts;
    }

    /** Closes what this JVM keeps open for the query, once what was sent has been answered. */
    @Override
    public synchronized void close() {
        // Called at the end, and once more by the listener, which may come when the next run of the
        // query has begun and uses clients of the same names.
        if (admin != null) {
            Lanes.close(options);
            SharedProducer.close(options);
            admin.close(GRACE);
            admin = null;
        }
    }
}
