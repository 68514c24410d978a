package io.headrace.sinks.lake;

import static org.apache.spark.sql.functions.col;

import io.delta.tables.DeltaTable;
import io.headrace.delivery.Failpoint;
import io.headrace.delivery.FrameSink;
import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.Refusal;
import io.headrace.delivery.SinkTerms;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A Delta table: rows are appended, or replace those of their keys, in one commit for each batch.
 */
public final class DeltaSink implements FrameSink {
    private static final Logger LOG = LoggerFactory.getLogger(DeltaSink.class);

    private static final Map<String, String> SETTINGS =
            Map.of(
                    // The stream's own session has it off; here it makes few files of few rows.
                    "spark.sql.adaptive.enabled", "true",
                    // Delta's own number is ten million, which is for ever.
                    "spark.databricks.delta.maxCommitAttempts", "20",
                    // Files of this size are let be; Delta's own limits would have the last
                    // gigabyte written anew each time.
                    "spark.databricks.delta.optimize.minFileSize", Long.toString(64 << 20),
                    "spark.databricks.delta.optimize.maxFileSize", Long.toString(256 << 20));

    private final DeltaSettings settings;
    private final DeltaTarget target;
    private final DeltaLedger ledger;
    private final PackedValues values;

    private OwnSession own;

    public DeltaSink(SinkTerms terms) {
        // Now, if they are missing: later it would look like any failure of a batch.
        LOG.debug("{} is there", DeltaTable.class);
        settings = new DeltaSettings(terms.settings());
        target = new DeltaTarget(settings.place());
        ledger = new DeltaLedger(target, "headrace." + terms.pipeline() + "." + terms.name());
        values = new PackedValues(settings.columns());
    }

    @Override
    public void prepare() {
        own = new OwnSession(SETTINGS);
        SparkSession session = own.get();
        DeltaFailures.named(
                target,
                () -> {
                    if (!target.exists(session)) {
                        target.make(
                                session,
                                values.schema(),
                                settings.partitions(),
                                settings.merges());
                    }
                    DeltaFit fit = new DeltaFit(target, target.now(session));
                    fit.requirePartitions(settings.partitions());
                    if (fit.lacksColumnsOf(values.schema())) {
                        Dataset<Row> none = session.createDataFrame(List.of(), values.schema());
                        target.append(none, Map.of("mergeSchema", "true"));
                    }
                });
    }

    @Override
    public Map<String, String> targets() {
        Snapshot now = target.now(own.get());
        return Map.of("table " + target.place(), now.metadata().id());
    }

    @Override
    public LedgerRecord last() {
        return ledger.last(own.get());
    }

    @Override
    public void write(Dataset<Row> rows, long bytes, LedgerRecord record) {
        if (record.rows() == 0) {
            ledger.noteEmpty(record);
            return;
        }
        Dataset<Row> here = own.of(rows);
        DeltaFailures.named(
                target,
                () -> {
                    if (settings.merges()) {
                        merge(here, record);
                    } else {
                        append(here, bytes, record);
                    }
                });
        Failpoint.reach("delta", "before-mark");
        ledger.noteWritten(record, own.get());
        if (settings.optimisesAfter(ledger.since())) {
            optimise();
        }
    }

    private void append(Dataset<Row> rows, long bytes, LedgerRecord record) {
        Dataset<Row> few = new FewFiles(values, settings.partitions()).of(rows, bytes);
        if (target.isPath()) {
            own.whileActive(() -> ledger.commit(few, record));
        } else {
            target.append(few, ledger.options(record));
        }
    }

    private void merge(Dataset<Row> rows, LedgerRecord record) {
        requireKeys(rows);
        DeltaMerge merge = new DeltaMerge(values, settings.keys());
        own.with(
                ledger.settings(record),
                () -> merge.into(target.table(own.get()), rows));
    }

    private void requireKeys(Dataset<Row> rows) {
        long keyless = rows.where(col("key").isNull()).count();
        if (keyless > 0) {
            String key = settings.keys().get(0);
            throw Refusal.of(
                    "row-refused",
                    keyless + " rows of this batch have no key",
                    "a row of table " + target.place() + " is found by its \"" + key
                            + "\", and theirs is null.",
                    "leave them out with where(\"" + key + " is not null\"), or write to "
                            + "another key.");
        }
    }

    private void optimise() {
        try {
            target.table(own.get()).optimize().executeCompaction();
            ledger.noteOptimised();
        } catch (RuntimeException problem) {
            // The rows are there, and the next time may find nobody else at the table.
            LOG.warn("table {} was not optimised: {}", target.place(), problem.getMessage());
        }
    }
}
