package io.headrace.sinks.lake;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The manifests of a directory, numbered from 0 without a gap.
 *
 * <p>A number is taken once: of two drivers that want the same, one gets it and the other hears of
 * it. So a driver that slept while another took over cannot add a manifest any more.
 */
final class Manifests {
    private static final Pattern NAME = Pattern.compile("(\\d{20})\\.json");

    private final Path root;
    private final Configuration configuration;

    Manifests(String root, Configuration configuration) {
        this.root = new Path(root);
        this.configuration = configuration;
    }

    Path root() {
        return root;
    }

    Path directory() {
        return new Path(root, "_headrace");
    }

    Configuration configuration() {
        return configuration;
    }

    FileSystem fileSystem() throws IOException {
        return root.getFileSystem(configuration);
    }

    /** The number of the last manifest that follows one which is known; that one if none does. */
    long lastFrom(long known) throws IOException {
        if (known == Mark.NONE) {
            List<Long> all = numbers();
            return all.isEmpty() ? Mark.NONE : all.get(all.size() - 1);
        }
        long last = known;
        while (fileSystem().exists(file(last + 1))) {
            last++;
        }
        return last;
    }

    /** All numbers, in their order. */
    List<Long> numbers() throws IOException {
        List<Long> found = new ArrayList<>();
        FileStatus[] files;
        try {
            files = fileSystem().listStatus(directory());
        } catch (FileNotFoundException nothing) {
            return found;
        }
        for (FileStatus file : files) {
            Matcher name = NAME.matcher(file.getPath().getName());
            if (name.matches()) {
                found.add(Long.parseLong(name.group(1)));
            }
        }
        found.sort(null);
        return found;
    }

    Manifest read(long number) throws IOException {
        try (InputStream content = fileSystem().open(file(number))) {
            return Manifest.parse(content.readAllBytes());
        }
    }

    /**
     * Adds a manifest.
     *
     * @throws java.nio.file.FileAlreadyExistsException if the number is taken
     */
    void add(long number, Manifest manifest) throws IOException {
        SmallFiles.create(file(number), manifest.toBytes(), configuration);
    }

    private Path file(long number) {
        return new Path(directory(), String.format("%020d.json", number));
    }
}
