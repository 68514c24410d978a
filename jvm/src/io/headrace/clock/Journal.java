package io.headrace.clock;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;

/**
 * What a clock has seen and not decided upon yet, in a file of the checkpoint.
 *
 * <p>A batch shows its events after its offsets were written, and the next offsets may be long in
 * coming, if ever. What it has shown is written here when it ends, so that a start finds it. The
 * file belongs to one batch: found beside another last batch, it says nothing.
 */
final class Journal {
    private final Path file;
    private final Path commits;
    private final Path offsets;
    private final FileSystem files;
    private long written = -1;

    /** Keeps a journal in the directory that Spark gives to a source. */
    Journal(String directory, SparkSession session) {
        Path own = new Path(directory);
        file = new Path(own, "seen");
        commits = new Path(own.getParent().getParent(), "commits");
        offsets = new Path(own.getParent().getParent(), "offsets");
        try {
            files = own.getFileSystem(session.sparkContext().hadoopConfiguration());
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    /** Reads what was seen until the last batch that was committed; nothing if that is unknown. */
    ClockState read() {
        try {
            String[] lines = text(file).split("\n");
            boolean isOfLastBatch = Long.parseLong(lines[0]) == lastBatch();
            return isOfLastBatch ? ClockText.parse(lines[1]) : ClockState.NONE;
        } catch (IOException | RuntimeException unreadable) {
            // Without it a clock knows less and waits longer, and is never wrong.
            return ClockState.NONE;
        }
    }

    /** Writes what was seen until a batch, once for each. */
    void write(long batch, ClockState state, String name) {
        if (batch == written) {
            return;
        }
        String text = batch + "\n" + ClockText.of(state, name) + "\n";
        Path draft = new Path(file.getParent(), ".seen.draft");
        try {
            try (OutputStream content = files.create(draft, true)) {
                content.write(text.getBytes(StandardCharsets.UTF_8));
            }
            // Hadoop's plain rename replaces nothing. Between the two there is no journal, which
            // costs a start nothing but time.
            files.delete(file, false);
            files.rename(draft, file);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
        written = batch;
    }

    /** Gives the watermark under which the last committed batch was run. */
    long lastWatermark() {
        try {
            return told(offsets, lastBatch(), "batchWatermarkMs");
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    /**
     * Tells whether the last batch has moved the watermark, and none was run under it since; not if
     * the last batch is to be repeated, as Spark then sees to it by itself.
     */
    boolean isBatchDue() {
        try {
            long batch = lastBatch();
            return batch == last(offsets)
                    && told(commits, batch, "nextBatchWatermarkMs")
                            > told(offsets, batch, "batchWatermarkMs");
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    /** Reads a number from what a log says of a whole batch; 0 if it says nothing. */
    private long told(Path log, long batch, String name) throws IOException {
        try {
            // A version, then what is true of the whole batch, then a line for each source.
            String[] lines = text(new Path(log, Long.toString(batch))).split("\n");
            return Json.read(lines[1]).path(name).asLong();
        } catch (FileNotFoundException none) {
            return 0;
        }
    }

    private String text(Path wanted) throws IOException {
        try (InputStream content = files.open(wanted)) {
            return new String(content.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private long lastBatch() throws IOException {
        return last(commits);
    }

    private long last(Path log) throws IOException {
        if (!files.exists(log)) {
            return -1;
        }
        return Arrays.stream(files.listStatus(log))
                .map(FileStatus::getPath)
                .map(Path::getName)
                .filter(name -> name.matches("\\d+"))
                .mapToLong(Long::parseLong)
                .max()
                .orElse(-1);
    }
}
