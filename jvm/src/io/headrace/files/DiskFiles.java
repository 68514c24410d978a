package io.headrace.files;

import org.apache.hadoop.fs.LocalFileSystem;

/** What stands behind `file:` for those who ask Hadoop for a file system. */
public final class DiskFiles extends LocalFileSystem {
    /** Opens the disk; Hadoop calls it by name. */
    public DiskFiles() {
        super(new Disk());
    }
}
