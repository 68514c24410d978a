package io.headrace.sinks.lake;

import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.apache.spark.internal.io.FileNameSpec;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Lets Spark write files under names of an attempt, where they are to stay, and tells which.
 *
 * <p>Nothing is renamed afterwards: what makes a file count is a manifest that names it. Spark
 * makes one of these for each write, and finds it by the name of the class.
 */
public final class WrittenFiles extends FileCommitProtocol implements Serializable {
    private static final long serialVersionUID = 1L;

    /** The option of a write that names the attempt. */
    static final String ATTEMPT = "headrace.attempt";

    private static final Map<String, List<String>> WRITTEN = new ConcurrentHashMap<>();

    private final String directory;

    private transient List<String> ofTask;
    private transient String task;

    public WrittenFiles(String job, String directory, boolean dynamicPartitionOverwrite) {
        this.directory = directory;
    }

    /** Gives the files of an attempt that has ended well, by their paths below the directory. */
    static List<String> of(String attempt) {
        return WRITTEN.remove(attempt);
    }

    @Override
    public void setupJob(JobContext job) {}

    @Override
    public void commitJob(JobContext job, Seq<TaskCommitMessage> messages) {
        List<String> files = new ArrayList<>();
        for (TaskCommitMessage message : CollectionConverters.asJava(messages)) {
            for (Object file : (List<?>) message.obj()) {
                files.add((String) file);
            }
        }
        WRITTEN.put(attempt(job.getConfiguration()), files);
    }

    @Override
    public void abortJob(JobContext job) {}

    @Override
    public void setupTask(TaskAttemptContext context) {
        ofTask = new ArrayList<>();
        // Two attempts of one task may write at once, of which one counts.
        task = UUID.randomUUID().toString().substring(0, 8);
    }

    @Override
    public String newTaskTempFile(
            TaskAttemptContext context, Option<String> below, FileNameSpec name) {
        String file =
                attempt(context.getConfiguration())
                        + String.format("-%05d-", context.getTaskAttemptID().getTaskID().getId())
                        + task
                        + name.suffix();
        String path = below.isEmpty() ? file : below.get() + "/" + file;
        ofTask.add(path);
        return new Path(directory, path).toString();
    }

    @Override
    public String newTaskTempFileAbsPath(
            TaskAttemptContext context, String absolute, FileNameSpec name) {
        throw new UnsupportedOperationException("files outside of " + directory);
    }

    @Override
    public TaskCommitMessage commitTask(TaskAttemptContext context) {
        return new TaskCommitMessage(new ArrayList<>(ofTask));
    }

    @Override
    public void abortTask(TaskAttemptContext context) {
        for (String file : ofTask == null ? List.<String>of() : ofTask) {
            Path path = new Path(directory, file);
            try {
                FileSystem files = path.getFileSystem(context.getConfiguration());
                files.delete(path, false);
            } catch (IOException left) {
                log().debug("{} stays until the next start", path, left);
            }
        }
    }

    private static String attempt(Configuration configuration) {
        return configuration.get(ATTEMPT);
    }
}
