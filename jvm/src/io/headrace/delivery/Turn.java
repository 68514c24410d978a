package io.headrace.delivery;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.CommitDeniedException;
import org.apache.spark.scheduler.OutputCommitCoordinator;

/**
 * The turn of one attempt of a task to write its lane, which the driver gives to one at a time.
 *
 * <p>When an executor is lost, Spark starts the tasks of a stage again while attempts of the stage
 * before may still run, and takes the answer of whichever ends first. If each of them fenced the
 * other, the answer could be that of the fenced one, and the query would end as if another driver
 * had taken over.
 */
final class Turn {
    private static final long PATIENCE_NANOS = Duration.ofSeconds(5).toNanos();
    private static final long PAUSE_NANOS = Duration.ofMillis(20).toNanos();

    private Turn() {}

    /**
     * Waits until no other attempt is writing; to be asked for once, right before the fence.
     *
     * <p>The turn ends with the attempt: by its success for good, by its failure for the next one.
     *
     * @throws CommitDeniedException if another attempt is writing still; Spark then starts this one
     *     again, and counts no failure
     */
    static void await(TaskContext task) throws CommitDeniedException {
        OutputCommitCoordinator driver = SparkEnv.get().outputCommitCoordinator();
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (!driver.canCommit(
                task.stageId(),
                task.stageAttemptNumber(),
                task.partitionId(),
                task.attemptNumber())) {
            Failpoint.reach("turn-denied");
            if (task.isInterrupted() || System.nanoTime() - deadline > 0) {
                // It is not for this task to wait for ever: it holds a core.
                throw new CommitDeniedException(
                        "another attempt is writing lane " + task.partitionId(),
                        task.stageId(),
                        task.partitionId(),
                        task.attemptNumber());
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }
}
