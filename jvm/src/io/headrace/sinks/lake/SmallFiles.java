package io.headrace.sinks.lake;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;

/**
 * Writes small files that are there as a whole or not at all.
 *
 * <p>On the machine's own disk it is Java that does so: Hadoop's local file system looks whether a
 * file is there and renames afterwards, and renames the file's checksum separately.
 */
final class SmallFiles {
    private SmallFiles() {}

    /** Writes a file, in the place of one that may be there. */
    static void replace(Path file, byte[] content, Configuration configuration)
            throws IOException {
        if (isLocal(file, configuration)) {
            java.nio.file.Path here = here(file);
            Files.move(draft(here, content), here, StandardCopyOption.ATOMIC_MOVE);
        } else {
            write(file, content, true, configuration);
        }
    }

    /**
     * Writes a file; of several that do so at once, the first one alone.
     *
     * @throws FileAlreadyExistsException if it is there
     */
    static void create(Path file, byte[] content, Configuration configuration)
            throws IOException {
        if (isLocal(file, configuration)) {
            createHere(here(file), content);
            return;
        }
        try {
            write(file, content, false, configuration);
        } catch (org.apache.hadoop.fs.FileAlreadyExistsException exists) {
            throw new FileAlreadyExistsException(file.toString());
        }
    }

    /** Does the same on this machine's disk: a link, unlike a rename, replaces nothing. */
    static void createHere(java.nio.file.Path file, byte[] content) throws IOException {
        java.nio.file.Path draft = draft(file, content);
        try {
            Files.createLink(file, draft);
        } finally {
            Files.delete(draft);
        }
    }

    static java.nio.file.Path here(Path file) {
        return java.nio.file.Path.of(file.toUri().getPath());
    }

    private static boolean isLocal(Path file, Configuration configuration) throws IOException {
        return "file".equals(file.getFileSystem(configuration).getUri().getScheme());
    }

    private static java.nio.file.Path draft(java.nio.file.Path file, byte[] content)
            throws IOException {
        Files.createDirectories(file.getParent());
        String name = "." + file.getFileName() + "." + UUID.randomUUID() + ".tmp";
        return Files.write(file.resolveSibling(name), content);
    }

    private static void write(
            Path file, byte[] content, boolean isReplaced, Configuration configuration)
            throws IOException {
        CheckpointFileManager files =
                CheckpointFileManager.create(file.getParent(), configuration);
        files.mkdirs(file.getParent());
        CheckpointFileManager.CancellableFSDataOutputStream out =
                files.createAtomic(file, isReplaced);
        try {
            out.write(content);
            out.close();
        } catch (IOException | RuntimeException problem) {
            out.cancel();
            throw problem;
        }
    }
}
