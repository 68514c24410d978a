package io.headrace.batches;

import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.ref.WeakReference;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.streaming.StreamingQuery;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The batch that a query runs: its name and its watermark, as the tasks have to know them.
 *
 * <p>Spark tells the watermark to operators with state alone. A function of ours knows it all the
 * same: Spark writes the functions of a stage anew for each batch, on the driver, while the batch
 * runs, and this then writes what the query says of itself at that moment.
 */
public final class RunningBatch implements Serializable {
    /** The batch where no stream runs, but a finished data set. */
    public static final String NONE = "";

    /** What Spark notes the query and the batch under, for the thread and its tasks. */
    public static final String QUERY = "sql.streaming.queryId";

    public static final String BATCH = "streaming.sql.batchId";

    private static final long serialVersionUID = 1L;

    private final transient SparkSession session;
    private transient Object function;
    private transient WeakReference<StreamExecution> query;
    private transient String name;
    private transient long watermark;
    private transient long watermarkBefore;

    public RunningBatch(SparkSession session) {
        this.session = session;
    }

    /** Names the function by which the query's plan is known among others. */
    public void isOf(Object planned) {
        this.function = planned;
    }

    /** Names the query and the batch that a task is of. */
    public static String ofTask() {
        TaskContext task = TaskContext.get();
        String number = task == null ? null : task.getLocalProperty(BATCH);
        return number == null ? NONE : task.getLocalProperty(QUERY) + "/" + number;
    }

    /** Names the query and the batch that runs now; to be asked on the driver. */
    public String now() {
        StreamExecution running = query();
        IncrementalExecution batch = running == null ? null : running.lastExecution();
        return batch == null ? NONE : running.id() + "/" + batch.currentBatchId();
    }

    /** The watermark of the batch in milliseconds; to be asked in a task. */
    public long watermark() {
        requireOwnBatch();
        return watermark;
    }

    /** The watermark of the batch before it in milliseconds; to be asked in a task. */
    public long watermarkBefore() {
        requireOwnBatch();
        return watermarkBefore;
    }

    /** Fails in a task of another batch than the one that its functions were written for. */
    public void requireOwnBatch() {
        String wanted = ofTask();
        if (!wanted.equals(name)) {
            throw new IllegalStateException(
                    "a task of batch " + wanted + " was planned for batch " + name);
        }
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
        out.defaultWriteObject();
        StreamExecution running = query();
        IncrementalExecution batch = running == null ? null : running.lastExecution();
        out.writeUTF(now());
        out.writeLong(batch == null ? 0 : batch.offsetSeqMetadata().batchWatermarkMs());
        out.writeLong(batch == null ? 0 : before(batch));
    }

    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
        in.defaultReadObject();
        name = in.readUTF();
        watermark = in.readLong();
        watermarkBefore = in.readLong();
    }

    private static long before(IncrementalExecution batch) {
        return batch.prevOffsetSeqMetadata().isEmpty()
                ? 0
                : batch.prevOffsetSeqMetadata().get().batchWatermarkMs();
    }

    private synchronized StreamExecution query() {
        StreamExecution known = query == null ? null : query.get();
        if (known == null || !known.isActive()) {
            known = found();
            query = new WeakReference<>(known);
        }
        return known;
    }

    private StreamExecution found() {
        for (StreamingQuery active : session.streams().active()) {
            StreamExecution execution = ((StreamingQueryWrapper) active).streamingQuery();
            if (execution.analyzedPlan().exists(this::isIn)) {
                return execution;
            }
        }
        return null;
    }

    private boolean isIn(LogicalPlan step) {
        return CollectionConverters.asJava(step.expressions()).stream()
                .anyMatch(expression -> expression.exists(this::isFunction));
    }

    private boolean isFunction(Expression part) {
        return part instanceof Literal && ((Literal) part).value() == function;
    }
}
