package io.headrace.delivery;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager;

/**
 * Spark's own way to write checkpoint files, with a failpoint before a batch's offsets.
 *
 * <p>Spark calls no code of ours between the end of one batch and the offsets of the next. Fault
 * tests name this class in {@code spark.sql.streaming.checkpointFileManagerClass}.
 */
public final class FailingCheckpoints extends FileContextBasedCheckpointFileManager {
    /** As Spark constructs it. */
    public FailingCheckpoints(Path path, Configuration configuration) {
        super(path, configuration);
    }

    @Override
    public CheckpointFileManager.CancellableFSDataOutputStream createAtomic(
            Path path, boolean overwrite) {
        if (path.getParent().getName().equals("offsets")) {
            Failpoint.reach("before-offsets");
        }
        return super.createAtomic(path, overwrite);
    }
}
