package io.headrace.sinks.lake;

import io.delta.storage.HDFSLogStore;
import io.headrace.delivery.Failpoint;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * The log of a Delta table on this machine's disk, where two processes may commit at once.
 *
 * <p>Delta's own store for disks looks whether a commit is there and renames afterwards, so of two
 * processes that do so in the same moment the later one replaces the commit of the other.
 */
public final class LocalLog extends HDFSLogStore {
    public LocalLog(Configuration configuration) {
        super(configuration);
    }

    @Override
    public void write(
            Path path, Iterator<String> actions, Boolean overwrite, Configuration configuration)
            throws IOException {
        if (overwrite) {
            super.write(path, actions, overwrite, configuration);
            return;
        }
        StringBuilder content = new StringBuilder();
        actions.forEachRemaining(action -> content.append(action).append('\n'));
        byte[] bytes = content.toString().getBytes(StandardCharsets.UTF_8);
        Failpoint.reach("delta", "rows-flushed");
        Failpoint.reachDuring("delta", "commit-in-doubt");
        SmallFiles.createHere(SmallFiles.here(path), bytes);
    }
}
