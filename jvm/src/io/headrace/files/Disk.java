package io.headrace.files;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * A local disk as Hadoop sees it, that asks no other process.
 *
 * <p>Without its native library Hadoop starts a `chmod` for each file that it writes, and four times
 * a `readlink` for each that it renames. A batch of a few operators writes dozens of files, so that
 * most of its time would go into processes.
 */
final class Disk extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
        if (permission.getStickyBit()) {
            // Java's permissions know nothing of it.
            super.setPermission(path, permission);
            return;
        }
        Files.setPosixFilePermissions(
                pathToFile(path).toPath(), PosixFilePermissions.fromString(permission.toString()));
    }

    @Override
    public FileStatus getFileLinkStatus(Path path) throws IOException {
        boolean isLink = Files.isSymbolicLink(pathToFile(path).toPath());
        return isLink ? super.getFileLinkStatus(path) : getFileStatus(path);
    }
}
