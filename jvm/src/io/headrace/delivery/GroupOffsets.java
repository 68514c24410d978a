package io.headrace.delivery;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shows how far a query has come as the offsets of a consumer group, for the log's own tools.
 *
 * <p>Nothing is ever read back from there, so a failure is not worth more than a warning.
 */
final class GroupOffsets {
    private static final Logger LOG = LoggerFactory.getLogger(GroupOffsets.class);

    private final String group;
    private final Admin admin;

    private volatile KafkaFuture<Void> last;

    GroupOffsets(String group, Admin admin) {
        this.group = group;
        this.admin = admin;
    }

    /** Commits without waiting for the answer. */
    void commit(SourceOffsets offsets) {
        Map<TopicPartition, OffsetAndMetadata> places = offsets.inKafka();
        if (places.isEmpty()) {
            return;
        }
        last = admin.alterConsumerGroupOffsets(group, places).all();
        last.whenComplete(
                (done, problem) -> {
                    if (problem != null) {
                        warn(problem);
                    }
                });
    }

    /** Waits for the last answer, for a while: who has come to the end should show no lag. */
    void settle(Duration most) {
        if (last == null) {
            return;
        }
        try {
            last.get(most.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException unanswered) {
            warn(unanswered);
        } catch (ExecutionException told) {
            LOG.debug("the warning has said it", told);
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    private void warn(Throwable problem) {
        LOG.warn("the lag of group {} is not up to date: {}", group, problem.toString());
    }
}
