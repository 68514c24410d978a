package io.headrace.delivery;

import io.headrace.postgres.PostgresSink;
import io.headrace.sinks.lake.ConsoleSink;
import io.headrace.sinks.lake.DeltaSink;
import io.headrace.sinks.lake.FilesSink;
import io.headrace.sinks.lake.MemorySink;

/** The systems that can be written to beside Kafka, by their names. */
final class SinkSystems {
    private SinkSystems() {}

    /**
     * Makes the job that writes a sink.
     *
     * @param place of the sink among all
     * @throws Refusal if the session lacks the jars of the sink's system
     */
    static SinkJob job(DeliveryOptions options, int place) {
        Sink sink = options.sinks().get(place);
        SinkTerms terms =
                new SinkTerms(options.pipeline(), sink.name(), sink.system(), sink.settings());
        try {
            // Each branch loads its classes alone, as those of others may not be there.
            return switch (terms.system()) {
                case "delta" -> new FrameSinkJob(options, place, new DeltaSink(terms));
                case "files" -> new FrameSinkJob(options, place, new FilesSink(terms));
                case "memory" -> new FrameSinkJob(options, place, new MemorySink(terms));
                case "console" -> new FrameSinkJob(options, place, new ConsoleSink(terms));
                case "postgres" -> new RowSinkJob(options, place, new PostgresSink(terms));
                default -> throw new IllegalArgumentException("no system " + terms.system());
            };
        } catch (NoClassDefFoundError missing) {
            throw Refusal.of(
                    "sink-jars-missing",
                    "this Spark session cannot write to " + sink.system(),
                    "its class path has no " + missing.getMessage() + ".",
                    "let headrace start the session, with the artifacts of the pipeline's sinks.");
        }
    }
}
