package io.headrace.delivery;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/** What one query was told about its delivery, as text from Python, read by name. */
final class DeliveryOptions implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final String CLIENT = "client.";

    private final HashMap<String, String> given;
    private final ArrayList<Sink> sinks = new ArrayList<>();
    private final String run = UUID.randomUUID().toString();

    DeliveryOptions(Map<String, String> given) {
        this.given = new HashMap<>(given);
        for (JsonNode sink : Json.read(required("sinks"))) {
            HashMap<String, String> settings = new HashMap<>();
            sink.get("settings")
                    .properties()
                    .forEach(s -> settings.put(s.getKey(), s.getValue().asText()));
            sinks.add(new Sink(sink.get("name").asText(), sink.get("system").asText(), settings));
        }
    }

    String pipeline() {
        return required("pipeline");
    }

    String query() {
        return required("query");
    }

    /** One start of the query: an executor can outlive it, and keep clients of the run before. */
    String run() {
        return run;
    }

    boolean isExactlyOnce() {
        return given.getOrDefault("delivery", "exactly-once").equals("exactly-once");
    }

    int lanes() {
        return Integer.parseInt(given.getOrDefault("lanes", "1"));
    }

    List<Sink> sinks() {
        return sinks;
    }

    /** The topics that are written to, each once. */
    List<String> topics() {
        return sinks.stream().filter(Sink::isTopic).map(Sink::topic).distinct().toList();
    }

    /** Whether there is a Kafka: the rig has none, and keeps what topics would get by itself. */
    boolean hasKafka() {
        return given.containsKey("bootstrap");
    }

    String bootstrap() {
        return required("bootstrap");
    }

    String progressTopic() {
        return required("progress_topic");
    }

    String checkpoint() {
        return required("checkpoint");
    }

    String group() {
        return given.getOrDefault("group", "headrace." + pipeline());
    }

    /** Whether output topics that are not there are to be made. */
    boolean makesTopics() {
        return Boolean.parseBoolean(given.getOrDefault("create_topics", "false"));
    }

    /** What the user has said to take over as it is, such as {@code checkpoint}. */
    Set<String> adopt() {
        String named = given.getOrDefault("adopt", "");
        return named.isEmpty() ? Set.of() : Set.of(named.split(","));
    }

    /** How long to wait for a sink's server that does not answer, before the query fails. */
    Duration patience() {
        return Duration.ofMillis(Long.parseLong(given.getOrDefault("patience_ms", "120000")));
    }

    /** The place of the dead letters in the list of sinks, or -1. */
    int deadLetterSink() {
        return Integer.parseInt(given.getOrDefault("dead_letter_sink", "-1"));
    }

    /** The largest share of dead letters that is taken for normal. */
    double deadLetterLimit() {
        return Double.parseDouble(given.getOrDefault("dead_letter_limit", "1"));
    }

    /** The name under which the brokers know a lane, whichever process it runs in. */
    String transactionalId(int lane) {
        return "headrace." + pipeline() + "." + query() + "." + lane;
    }

    /** Kafka's own settings, for all clients. */
    Map<String, String> client() {
        Map<String, String> found = new HashMap<>();
        given.forEach(
                (name, value) -> {
                    if (name.startsWith(CLIENT)) {
                        found.put(name.substring(CLIENT.length()), value);
                    }
                });
        return found;
    }

    private String required(String name) {
        String value = given.get(name);
        if (value == null) {
            throw new IllegalArgumentException("the option " + name + " is missing");
        }
        return value;
    }
}
