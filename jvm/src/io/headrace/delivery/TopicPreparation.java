package io.headrace.delivery;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Makes the topics that a query needs before it starts: its ledger always, others if told to. */
final class TopicPreparation {
    /** The ledger's last record must outlive everything, and the ones before need not. */
    private static final Map<String, String> LEDGER =
            Map.of("cleanup.policy", "compact", "retention.ms", "-1");

    private static final long PATIENCE_NANOS = 30_000_000_000L;
    private static final long PAUSE_NANOS = 20_000_000L;

    private final DeliveryOptions options;
    private final Admin admin;

    private TopicPreparation(DeliveryOptions options, Admin admin) {
        this.options = options;
        this.admin = admin;
    }

    static void run(DeliveryOptions options) {
        try (Admin admin = Admin.create(ClientSettings.admin(options))) {
            new TopicPreparation(options, admin).run();
        }
    }

    private void run() {
        if (options.isExactlyOnce()) {
            prepareLedger();
        }
        if (options.makesTopics()) {
            for (String topic : options.topics()) {
                make(new NewTopic(topic, Optional.empty(), Optional.empty()));
            }
        }
    }

    private void prepareLedger() {
        String name = options.progressTopic();
        boolean isNew =
                make(
                        new NewTopic(name, Optional.of(options.lanes()), Optional.empty())
                                .configs(LEDGER));
        if (!isNew) {
            // More lanes than before need more partitions; fewer leave some unused.
            NewPartitions wanted = NewPartitions.increaseTo(options.lanes());
            settle(
                    admin.createPartitions(Map.of(name, wanted)).all(),
                    InvalidPartitionsException.class);
        }
        awaitPartitions(name, options.lanes());
    }

    /** Waits until the brokers know of a topic: the controller answers before they do. */
    private void awaitPartitions(String topic, int partitions) {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (partitionsOf(topic) < partitions) {
            if (System.nanoTime() - deadline > 0) {
                throw Failures.unprepared(
                        new TimeoutException("topic " + topic + " is not known yet"), options);
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private int partitionsOf(String topic) {
        try {
            return admin.describeTopics(List.of(topic))
                    .topicNameValues()
                    .get(topic)
                    .get()
                    .partitions()
                    .size();
        } catch (ExecutionException problem) {
            if (problem.getCause() instanceof UnknownTopicOrPartitionException) {
                return 0;
            }
            throw Failures.unprepared(problem.getCause(), options);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", interrupted);
        }
    }

    private boolean make(NewTopic topic) {
        boolean isNew =
                settle(admin.createTopics(List.of(topic)).all(), TopicExistsException.class);
        awaitPartitions(topic.name(), 1);
        return isNew;
    }

    /** Waits for an answer; false if it is the one exception that is as good as done. */
    private boolean settle(KafkaFuture<?> answer, Class<? extends Exception> expected) {
        try {
            answer.get();
            return true;
        } catch (ExecutionException problem) {
            if (expected.isInstance(problem.getCause())) {
                return false;
            }
            throw Failures.unprepared(problem.getCause(), options);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", interrupted);
        }
    }
}
