package io.headrace.sinks.lake;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.UUID;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;

/**
 * The attempts to write a batch that have begun and not ended, each as an empty file.
 *
 * <p>Only if there are such has a start to look for files that no manifest names.
 */
final class Attempts {
    private final Manifests manifests;

    Attempts(Manifests manifests) {
        this.manifests = manifests;
    }

    /** Notes an attempt before its first file is written; gives its name. */
    String begin(long number, long batch) throws IOException {
        String unique = UUID.randomUUID().toString().substring(0, 13);
        String name = String.format("%d-batch-%d-%s", number, batch, unique);
        manifests.fileSystem().create(file(name)).close();
        return name;
    }

    void end(String name) throws IOException {
        manifests.fileSystem().delete(file(name), false);
    }

    boolean isAnyOpen() throws IOException {
        return all().length > 0;
    }

    /** Removes the files of attempts that no manifest names; none of them may go on by now. */
    void sweep() throws IOException {
        for (FileStatus attempt : all()) {
            String name = attempt.getPath().getName();
            if (!isNamed(name)) {
                removeFiles(name);
            }
            end(name);
        }
    }

    private boolean isNamed(String name) throws IOException {
        long number = Long.parseLong(name.substring(0, name.indexOf('-')));
        try {
            return name.equals(manifests.read(number).attempt());
        } catch (FileNotFoundException unfinished) {
            return false;
        }
    }

    private void removeFiles(String attempt) throws IOException {
        FileSystem files = manifests.fileSystem();
        RemoteIterator<LocatedFileStatus> all = files.listFiles(manifests.root(), true);
        while (all.hasNext()) {
            Path file = all.next().getPath();
            if (file.getName().startsWith(attempt + "-")) {
                files.delete(file, false);
            }
        }
    }

    private FileStatus[] all() throws IOException {
        try {
            return manifests.fileSystem().listStatus(directory());
        } catch (FileNotFoundException none) {
            return new FileStatus[0];
        }
    }

    private Path directory() {
        return new Path(manifests.directory(), "attempts");
    }

    private Path file(String name) {
        return new Path(directory(), name);
    }
}
