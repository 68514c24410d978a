package io.headrace.delivery;

import java.util.Iterator;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.CommitDeniedException;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * What the task of one lane gives for the rows of one partition.
 *
 * <p>The same by functions of Spark's takes longer to begin than to do: it reads the class that
 * each function is of, in every batch.
 */
final class LaneRows extends RDD<String> {
    private static final long serialVersionUID = 1L;
    private static final ClassTag<String> TEXT = ClassTag$.MODULE$.apply(String.class);
    private static final ClassTag<InternalRow> ROW = ClassTag$.MODULE$.apply(InternalRow.class);

    private final LaneTask task;

    LaneRows(RDD<InternalRow> rows, LaneTask task) {
        super(rows, TEXT);
        this.task = task;
    }

    @Override
    public Partition[] getPartitions() {
        return firstParent(ROW).partitions();
    }

    @Override
    public scala.collection.Iterator<String> compute(Partition split, TaskContext context) {
        Iterator<InternalRow> rows =
                CollectionConverters.asJava(this.<InternalRow>firstParent(ROW).iterator(split, context));
        try {
            return CollectionConverters.asScala(task.call(written(rows)));
        } catch (CommitDeniedException denied) {
            throw LaneRows.<RuntimeException>asItIs(denied);
        }
    }

    /** Spark's own methods throw what they like, and what it is tells Spark what to do. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E asItIs(Throwable thrown) throws E {
        throw (E) thrown;
    }

    private static Iterator<Row> written(Iterator<InternalRow> rows) {
        return new Iterator<>() {
            private long place;

            @Override
            public boolean hasNext() {
                return rows.hasNext();
            }

            @Override
            public Row next() {
                return OutgoingRows.row(rows.next(), place++);
            }
        };
    }
}
