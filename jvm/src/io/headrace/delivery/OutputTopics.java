package io.headrace.delivery;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** The topics that a query writes to, with their ids: a topic made anew has another one. */
final class OutputTopics {
    /** How old an answer may be: a topic made anew is then noticed a few batches later. */
    private static final long FRESH_NANOS = 5_000_000_000L;

    private final DeliveryOptions options;
    private final Admin admin;
    private Map<String, String> ids;
    private int progressPartitions;
    private long askedAt;

    OutputTopics(DeliveryOptions options, Admin admin) {
        this.options = options;
        this.admin = admin;
    }

    /**
     * The ids of the output topics.
     *
     * @throws Refusal if there is no such topic, or no partition of the ledger for a lane
     */
    Map<String, String> ids() {
        if (ids == null || System.nanoTime() - askedAt > FRESH_NANOS) {
            ask();
        }
        return ids;
    }

    /** How many lanes the progress topic has room for; at least as many as there are. */
    int progressPartitions() {
        ids();
        return progressPartitions;
    }

    private void ask() {
        List<String> names = new ArrayList<>(options.topics());
        if (options.isExactlyOnce()) {
            names.add(options.progressTopic());
        }
        Map<String, String> found = new TreeMap<>();
        var answers = admin.describeTopics(names).topicNameValues();
        for (String name : names) {
            try {
                TopicDescription topic = answers.get(name).get();
                if (options.isExactlyOnce() && name.equals(options.progressTopic())) {
                    progressPartitions = topic.partitions().size();
                } else {
                    found.put(name, topic.topicId().toString());
                }
            } catch (ExecutionException problem) {
                if (problem.getCause() instanceof UnknownTopicOrPartitionException) {
                    throw missing(name);
                }
                throw Failures.named(problem.getCause(), options);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted", interrupted);
            }
        }
        if (options.isExactlyOnce() && progressPartitions < options.lanes()) {
            throw Refusal.of(
                    "progress-topic-narrow",
                    "the progress topic has " + progressPartitions + " partition(s) for "
                            + options.lanes() + " lanes",
                    "each lane keeps its ledger in a partition of its own.",
                    "add partitions to \"" + options.progressTopic() + "\".");
        }
        ids = found;
        askedAt = System.nanoTime();
    }

    private Refusal missing(String name) {
        return Refusal.ofLog(
                "topic-missing",
                "there is no topic \"" + name + "\"",
                "query \"" + options.query() + "\" writes to it.",
                "topics are made on purpose: a misspelt name does not make one.");
    }
}
