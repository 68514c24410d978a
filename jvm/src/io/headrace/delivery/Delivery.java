package io.headrace.delivery;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.DataStreamWriter;

/** Where Python comes in: delivers the outgoing rows of a query into its sinks. */
public final class Delivery {
    private static final Map<String, Report> REPORTS = new ConcurrentHashMap<>();
    private static final Map<String, BatchWriter> WRITERS = new ConcurrentHashMap<>();

    private Delivery() {}

    /**
     * Lets a query deliver its rows.
     *
     * @param writer of a stream with the columns sink, key, value, headers and timestamp
     * @param options as {@code headrace.delivery} in Python writes them
     * @return the writer, ready to start
     */
    public static DataStreamWriter<Row> attach(
            DataStreamWriter<Row> writer, Map<String, String> options) {
        return writer.foreachBatch(open(new DeliveryOptions(options)));
    }

    /**
     * Prepares the delivery of batches that come one by one, by {@link #write}: those of the rig.
     *
     * @param options as above; without {@code bootstrap}, topics get nothing
     */
    public static void open(Map<String, String> options) {
        open(new DeliveryOptions(options));
    }

    /** Delivers a batch of a query that was opened. */
    public static void write(String pipeline, String query, Dataset<Row> batch, long number)
            throws Exception {
        WRITERS.get(name(pipeline, query)).call(batch, number);
    }

    private static BatchWriter open(DeliveryOptions options) {
        Report report = new Report(options);
        BatchWriter batches = new BatchWriter(options, report);
        batches.prepare();
        String name = name(options.pipeline(), options.query());
        REPORTS.put(name, report);
        WRITERS.put(name, batches);
        return batches;
    }

    /** Closes the clients of a query that has ended, once what they sent is answered. */
    public static void close(String pipeline, String query) {
        BatchWriter batches = WRITERS.remove(name(pipeline, query));
        if (batches != null) {
            batches.close();
        }
    }

    /** What a query of this process has delivered since it was attached, as JSON. */
    public static String report(String pipeline, String query) {
        Report report = REPORTS.get(name(pipeline, query));
        return report == null ? "{}" : report.toJson();
    }

    private static String name(String pipeline, String query) {
        return pipeline + "." + query;
    }
}
