package io.headrace.files;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FsConstants;

/** What stands behind `file:` for those who ask Hadoop for a file context: Spark's checkpoints. */
public final class DiskContext extends ChecksumFs {
    /** Opens the disk; Hadoop calls it by name. */
    public DiskContext(URI name, Configuration settings) throws IOException, URISyntaxException {
        super(new Plain(settings));
    }

    /** The disk without sums beside its files. */
    private static final class Plain extends DelegateToFileSystem {
        Plain(Configuration settings) throws IOException, URISyntaxException {
            super(FsConstants.LOCAL_FS_URI, new Disk(), settings, "file", false);
        }

        @Override
        public int getUriDefaultPort() {
            return -1;
        }

        @Override
        public boolean isValidName(String path) {
            // Any name that a path can have, a disk can have; Hadoop's own rule is HDFS's.
            return true;
        }
    }
}
