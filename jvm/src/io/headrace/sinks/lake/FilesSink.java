package io.headrace.sinks.lake;

import io.headrace.delivery.Failpoint;
import io.headrace.delivery.FrameSink;
import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.Refusal;
import io.headrace.delivery.SinkTerms;
import io.headrace.sinks.Names;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.DataFrameWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** A directory of files: those that a manifest names are the sink's rows. */
public final class FilesSink implements FrameSink {
    private static final Map<String, String> SETTINGS =
            Map.of(
                    "spark.sql.adaptive.enabled", "true",
                    "spark.sql.sources.commitProtocolClass", WrittenFiles.class.getName());

    private final String sink;
    private final String path;
    private final String format;
    private final List<String> partitions;
    private final PackedValues values;

    private OwnSession own;
    private Manifests manifests;
    private Attempts attempts;
    private Manifest.Layout layout;
    private boolean isSwept;

    /** The number of the last manifest that was seen. */
    private long last = Mark.NONE;

    private LedgerRecord lastRecord;

    public FilesSink(SinkTerms terms) {
        Map<String, String> given = terms.settings();
        sink = terms.pipeline() + "." + terms.name();
        path = given.get("path");
        format = given.get("format");
        partitions = Names.read(given.getOrDefault("partition_by", "[]"));
        values = new PackedValues(given.get("columns"));
    }

    @Override
    public void prepare() {
        own = new OwnSession(SETTINGS);
        SparkSession session = own.get();
        manifests =
                new Manifests(path, session.sparkContext().hadoopConfiguration());
        attempts = new Attempts(manifests);
        Storage.use(
                "directory " + path,
                () -> {
                    last = manifests.lastFrom(Mark.NONE);
                    Manifest.Layout before =
                            last == Mark.NONE ? null : manifests.read(last).layout();
                    layout =
                            new FilesFit(path, before)
                                    .together(sink, format, partitions, values.schema());
                });
    }

    @Override
    public Map<String, String> targets() {
        // The ledger lies in the directory and goes with it.
        return Map.of();
    }

    @Override
    public LedgerRecord last() {
        Storage.use("directory " + path, this::look);
        return lastRecord;
    }

    private void look() throws IOException {
        last = manifests.lastFrom(last);
        Mark mark = Mark.read(markFile(), manifests.configuration());
        if (mark != null && mark.version() == last) {
            lastRecord = mark.record();
        } else {
            lastRecord = last == Mark.NONE ? null : manifests.read(last).record();
        }
    }

    @Override
    public void write(Dataset<Row> rows, long bytes, LedgerRecord record) {
        Storage.use(
                "directory " + path,
                () -> {
                    if (record.rows() == 0) {
                        note(record);
                        return;
                    }
                    if (!isSwept) {
                        sweep();
                    }
                    writeFiles(rows, bytes, record);
                });
    }

    /** Takes the next number before it removes what a driver left that may only be asleep. */
    private void sweep() throws IOException {
        if (attempts.isAnyOpen()) {
            add(new Manifest(layout, null, List.of(), lastRecord));
            attempts.sweep();
        }
        isSwept = true;
    }

    private void writeFiles(Dataset<Row> rows, long bytes, LedgerRecord record)
            throws IOException {
        String attempt = attempts.begin(last + 1, record.terms().batch());
        Dataset<Row> columns = new FewFiles(values, partitions).of(own.of(rows), bytes);
        DataFrameWriter<Row> writer =
                columns.write()
                        .mode("append")
                        .format(format)
                        .options(FileFormats.options(format))
                        .option(WrittenFiles.ATTEMPT, attempt);
        if (!partitions.isEmpty()) {
            writer = writer.partitionBy(partitions.toArray(String[]::new));
        }
        writer.save(path);
        Failpoint.reach("files", "rows-flushed");
        Failpoint.reachDuring("files", "commit-in-doubt");
        add(new Manifest(layout, attempt, WrittenFiles.of(attempt), record));
        Failpoint.reach("files", "before-mark");
        note(record);
        attempts.end(attempt);
    }

    private void add(Manifest manifest) throws IOException {
        try {
            manifests.add(last + 1, manifest);
        } catch (FileAlreadyExistsException taken) {
            throw Refusal.passing(
                    taken,
                    "writer-fenced",
                    "another driver has written to directory " + path,
                    "it has added manifest " + (last + 1) + "; this one has added nothing.",
                    "find the other driver; stop it before you start this one again.");
        }
        last++;
    }

    /** Notes the last batch beside the manifests, since one without rows has none. */
    private void note(LedgerRecord record) {
        new Mark(sink, last, record, 0).write(markFile(), manifests.configuration());
    }

    private Path markFile() {
        return new Path(manifests.directory(), "mark.json");
    }
}
