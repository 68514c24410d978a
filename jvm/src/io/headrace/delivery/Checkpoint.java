package io.headrace.delivery;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** What Spark's checkpoint says of a query: whose it is, and where a batch ends. */
final class Checkpoint {
    private final Path directory;
    private final FileSystem files;

    Checkpoint(String directory, Configuration configuration) {
        this.directory = new Path(directory);
        try {
            this.files = this.directory.getFileSystem(configuration);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    /** The id that a checkpoint gets when it is made, and keeps. */
    String lineage() {
        return Json.read(read(new Path(directory, "metadata"))).get("id").asText();
    }

    /** Where a batch ends in its sources; Spark writes it before the batch runs. */
    SourceOffsets offsets(long batch) {
        return SourceOffsets.parse(read(new Path(new Path(directory, "offsets"), "" + batch)));
    }

    private String read(Path file) {
        try (InputStream content = files.open(file)) {
            return new String(content.readAllBytes(), StandardCharsets.UTF_8);
        } catch (FileNotFoundException missing) {
            throw Refusal.of(
                    "checkpoint-damaged",
                    "the checkpoint lost a file while the query runs",
                    file + " is not there.",
                    "nothing was written; stop what deletes files there, and start again.");
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }
}
