package io.headrace.delivery;

import java.util.UUID;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import scala.Option;

/** Closes the clients of a query when it has ended. */
final class QueryEnd extends StreamingQueryListener {
    private static final long serialVersionUID = 1L;

    private final String lineage;
    private final BatchWriter writer;

    private QueryEnd(String lineage, BatchWriter writer) {
        this.lineage = lineage;
        this.writer = writer;
    }

    static QueryEnd watch(String lineage, BatchWriter writer) {
        // The session of a batch is a clone, whose listeners hear nothing.
        SparkSession spark = SparkSession.getDefaultSession().get();
        QueryEnd end = new QueryEnd(lineage, writer);
        spark.streams().addListener(end);
        return end;
    }

    /** Hears no more; the session would keep the writer, and all that it holds, for good. */
    void forget() {
        Option<SparkSession> spark = SparkSession.getDefaultSession();
        if (spark.isDefined()) {
            spark.get().streams().removeListener(this);
        }
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
            forget();
            writer.close();
        }
    }

    private boolean isOurs(UUID id) {
        return id.toString().equals(lineage);
    }
}
