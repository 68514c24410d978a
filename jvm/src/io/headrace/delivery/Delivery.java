package io.headrace.delivery;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.DataStreamWriter;

/** Where Python comes in: delivers the outgoing rows of a query into Kafka. */
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
        DeliveryOptions read = new DeliveryOptions(options);
        TopicPreparation.run(read);
        Report report = new Report(read);
        BatchWriter batches = new BatchWriter(read, report);
        String name = name(read.pipeline(), read.query());
        REPORTS.put(name, report);
        WRITERS.put(name, batches);
        return writer.foreachBatch(batches);
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
