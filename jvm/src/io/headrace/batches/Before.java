package io.headrace.batches;

import io.headrace.formats.Call;
import java.io.Serializable;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;

/**
 * Tells each row the watermark of the batch before, in milliseconds.
 *
 * <p>A step that tells rows when the watermark moves gives them to those behind it in the batch in
 * which it has moved. They judge what comes by the watermark before that. Public, as the code that
 * Spark generates calls it.
 */
public final class Before implements Serializable {
    /** The column that holds it. */
    public static final String COLUMN = "_before";

    private static final long serialVersionUID = 1L;

    private final RunningBatch batch;

    private Before(SparkSession session) {
        this.batch = new RunningBatch(session);
        batch.isOf(this);
    }

    /** Gives the column. */
    public static Column column(SparkSession session) {
        return Call.of(new Before(session), "watermark", DataTypes.LongType).as(COLUMN);
    }

    public long watermark() {
        return batch.watermarkBefore();
    }

    @Override
    public String toString() {
        return "watermark before";
    }
}
