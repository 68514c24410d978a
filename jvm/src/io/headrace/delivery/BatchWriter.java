package io.headrace.delivery;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * Delivers each batch of one query: the driver's part, which starts the jobs and hears them.
 *
 * <p>All topics of Kafka are one job, each other sink is one. Each job has its own ledger.
 */
final class BatchWriter implements VoidFunction2<Dataset<Row>, Long>, AutoCloseable {
    private static final long serialVersionUID = 1L;

    private final DeliveryOptions options;
    private final transient Report report;
    private final transient DeadLetterLimit deadLetters;
    private final transient KafkaJob kafka;
    private final transient List<SinkJob> jobs = new ArrayList<>();
    private final transient List<Integer> countedPlaces = new ArrayList<>();

    private final transient SmallWork work = new SmallWork();

    private transient Checkpoint checkpoint;
    private transient String lineage;
    private transient QueryEnd end;
    private transient boolean isClosed;

    BatchWriter(DeliveryOptions options, Report report) {
        this.options = options;
        this.report = report;
        this.deadLetters = new DeadLetterLimit(options);
        this.kafka = options.hasKafka() ? new KafkaJob(options) : null;
        if (kafka != null) {
            jobs.add(kafka);
        }
        for (int place = 0; place < options.sinks().size(); place++) {
            if (!options.sinks().get(place).isTopic()) {
                jobs.add(SinkSystems.job(options, place));
                countedPlaces.add(place);
            }
        }
    }

    /** Makes and checks what the sinks need, before the query starts. */
    void prepare() {
        jobs.forEach(SinkJob::prepare);
    }

    @Override
    public void call(Dataset<Row> batch, Long number) throws Exception {
        Failpoint.reach("after-offsets");
        long begunAt = System.nanoTime();
        if (lineage == null) {
            open(batch.sparkSession());
        }
        SourceOffsets offsets = checkpoint.offsets(number);
        BatchTerms terms =
                new BatchTerms(lineage, number, options.lanes(), offsets, Map.of(), 0);
        work.begin(offsets);
        List<Delivered> delivered = write(batch, terms);
        work.end();
        report.read(number, ReadRecords.of(lineage, number));
        long[] rows = report.add(number, delivered, (System.nanoTime() - begunAt) / 1e6);
        if (kafka != null) {
            kafka.showProgress(offsets);
        }
        deadLetters.count(rows);
        Failpoint.reach("before-spark-commit");
    }

    private void open(SparkSession spark) {
        checkpoint =
                new Checkpoint(
                        options.checkpoint(), spark.sparkContext().hadoopConfiguration());
        lineage = checkpoint.lineage();
        end = QueryEnd.watch(lineage, this);
    }

    private List<Delivered> write(Dataset<Row> batch, BatchTerms terms) throws Exception {
        if (jobs.size() == 1 && kafka != null) {
            boolean isSmall = options.isExactlyOnce() && options.lanes() == 1 && work.isSmall();
            OutgoingBatch once = OutgoingBatch.computedOnce(batch, isSmall);
            return List.of(written(kafka, once, terms));
        }
        try (OutgoingBatch kept = OutgoingBatch.kept(batch, countedPlaces)) {
            List<Delivered> delivered = new ArrayList<>();
            List<Callable<Delivered>> others = new ArrayList<>();
            for (SinkJob job : jobs) {
                if (job == kafka) {
                    // Before the others, and not beside them: it takes a small part of their time,
                    // and what readers of topics wait for would come with the slowest sink.
                    delivered.add(written(job, kept, terms));
                } else {
                    others.add(() -> written(job, kept, terms));
                }
            }
            delivered.addAll(SideBySide.run(batch.sparkSession().sparkContext(), others));
            return delivered;
        }
    }

    private static Delivered written(SinkJob job, OutgoingBatch batch, BatchTerms terms) {
        return Delivered.now(job.places(), job.write(batch, terms));
    }

    /** Closes what this JVM keeps open for the query, once what was sent has been answered. */
    @Override
    public synchronized void close() {
        // Called at the end, and once more by the listener, which may come when the next run of the
        // query has begun and uses clients of the same names.
        if (!isClosed) {
            isClosed = true;
            if (end != null) {
                end.forget();
            }
            jobs.forEach(SinkJob::close);
        }
    }
}
