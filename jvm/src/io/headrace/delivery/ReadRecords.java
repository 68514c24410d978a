package io.headrace.delivery;

import io.headrace.formats.ScalaLists;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.streaming.StreamingQuery;
import scala.Option;

/**
 * How many records each source has given to a batch, however often it was read.
 *
 * <p>Spark adds up the rows of all places of a plan that read a source. Offsets do not tell either:
 * where a transaction ends, and where a topic was compacted, they count what is no record. But each
 * place reads all of what the batch has of its source, or nothing, so the largest number is it.
 */
final class ReadRecords implements AdaptiveSparkPlanHelper {
    private static final String ROWS = "numOutputRows";

    private ReadRecords() {}

    /**
     * The records of the batch that a query runs; to be asked when its rows are written.
     *
     * @param lineage the query's id
     * @param number the batch's
     * @return by the source's description, a number for each source of that description; null if
     *     Spark runs no such query
     */
    static Map<String, List<Long>> of(String lineage, long number) {
        IncrementalExecution batch = running(lineage);
        if (batch == null || batch.currentBatchId() != number) {
            return null;
        }
        Map<SparkDataStream, Long> most = new IdentityHashMap<>();
        for (SparkPlan leaf : ScalaLists.list(new ReadRecords().collectLeaves(batch.executedPlan()))) {
            if (leaf instanceof MicroBatchScanExec scan) {
                Option<SQLMetric> rows = scan.metrics().get(ROWS);
                long count = rows.isEmpty() ? 0 : rows.get().value();
                most.merge(scan.stream(), count, Math::max);
            }
        }
        Map<String, List<Long>> found = new TreeMap<>();
        most.forEach(
                (source, count) ->
                        found.computeIfAbsent(source.toString(), name -> new ArrayList<>())
                                .add(count));
        return found;
    }

    private static IncrementalExecution running(String lineage) {
        // A query runs in a copy of its session, which knows of no queries.
        Option<SparkSession> session = SparkSession.getDefaultSession();
        if (session.isEmpty()) {
            return null;
        }
        for (StreamingQuery query : session.get().streams().active()) {
            if (query.id().toString().equals(lineage)
                    && query instanceof StreamingQueryWrapper wrapper) {
                return wrapper.streamingQuery().lastExecution();
            }
        }
        return null;
    }
}
