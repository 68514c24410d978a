package io.headrace.delivery;

import java.util.UUID;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/** Closes the clients of a query when it has ended. */
final class QueryEnd extends StreamingQueryListener {
    private static final long serialVersionUID = 1L;

    private final String lineage;
    private final BatchWriter writer;

    private QueryEnd(String lineage, BatchWriter writer) {
        this.lineage = lineage;
        this.writer = writer;
    }

    static void watch(String lineage, BatchWriter writer) {
        // The session of a batch is a clone, whose listeners hear nothing.
        SparkSession spark = SparkSession.getDefaultSession().get();
        spark.streams().addListener(new QueryEnd(lineage, writer));
    }

    @Override
    public void onQueryStarted(QueryStartedEvent event) {}

    @Override
    public void onQueryProgress(QueryProgressEvent event) {
        if (isOurs(event.progress().id())) {
            Failpoint.reach("after-spark-commit");
        }
    }

    @Override
    public void onQueryTerminated(QueryTerminatedEvent event) {
        if (isOurs(event.id())) {
            SparkSession.getDefaultSession().get().streams().removeListener(this);
            writer.close();
        }
    }

    private boolean isOurs(UUID id) {
        return id.toString().equals(lineage);
    }
}
