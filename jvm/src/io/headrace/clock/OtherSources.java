package io.headrace.clock;

import com.fasterxml.jackson.databind.JsonNode;
import io.headrace.formats.ScalaLists;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper;
import org.apache.spark.sql.streaming.StreamingQuery;
import scala.Tuple2;
import scala.collection.immutable.ListMap$;

/** The sources of a query that clocks go by. */
final class OtherSources {
    private final StreamExecution running;

    OtherSources(StreamingQuery query) {
        this.running =
                query instanceof StreamingQueryWrapper wrapper ? wrapper.streamingQuery() : null;
    }

    /**
     * Has the clocks asked behind all others, from the next batch on: by then it is known where the
     * batch ends.
     */
    void askClocksLast() {
        if (running == null) {
            return;
        }
        List<Tuple2<SparkDataStream, ReadLimit>> sources =
                new ArrayList<>(ScalaLists.list(running.uniqueSources().toSeq()));
        sources.sort(Comparator.comparing(source -> source._1() instanceof ClockStream));
        // The kind of map that keeps an order.
        running.uniqueSources_$eq(ListMap$.MODULE$.from(ScalaLists.seq(sources)));
    }

    /**
     * Where the batch that begins ends in a topic, as far as that is said already; else where the
     * last one did. Nothing is known of a source that reads only a part of what there is.
     */
    Map<Integer, Long> ends(String topic) {
        Map<Integer, Long> ends = new HashMap<>();
        if (running == null) {
            return ends;
        }
        for (Tuple2<SparkDataStream, ReadLimit> source :
                ScalaLists.list(running.uniqueSources().toSeq())) {
            JsonNode places = latest(source._1()).path(topic);
            if (!places.isEmpty() && !(source._2() instanceof ReadAllAvailable)) {
                return Map.of();
            }
            // Several can read one topic, and are asked one after the other.
            places.properties()
                    .forEach(
                            place ->
                                    ends.merge(
                                            Integer.parseInt(place.getKey()),
                                            place.getValue().asLong(),
                                            Math::min));
        }
        return ends;
    }

    private static JsonNode latest(SparkDataStream source) {
        boolean tells = source instanceof SupportsAdmissionControl && !(source instanceof ClockStream);
        Offset latest = tells ? ((SupportsAdmissionControl) source).reportLatestOffset() : null;
        return latest == null ? Json.object() : Json.read(latest.json());
    }
}
