package io.headrace.delivery;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.StreamingQueryProgress;

/** What Spark tells of the batches of a query. */
public final class Told {
    private Told() {}

    /**
     * The batches that ended after a given one, in their order, as a list in Spark's JSON.
     *
     * <p>Spark keeps a hundred, and writing them all out costs more than many a batch does: who
     * asks again and again is told only what is new. It is one text, as Python comes to the end of
     * a list of Java's by an exception, which costs even more.
     */
    public static String after(StreamingQuery query, long last) {
        List<String> batches = new ArrayList<>();
        for (StreamingQueryProgress progress : query.recentProgress()) {
            // Spark reports an idle trigger under the number of the batch to come.
            boolean isIdle = !progress.durationMs().containsKey("addBatch");
            if (progress.batchId() > last && !isIdle) {
                batches.add(progress.json());
            }
        }
        return "[" + String.join(",", batches) + "]";
    }
}
