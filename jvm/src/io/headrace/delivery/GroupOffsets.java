package io.headrace.delivery;

import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
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
        admin.alterConsumerGroupOffsets(group, places)
                .all()
                .whenComplete(
                        (done, problem) -> {
                            if (problem != null) {
                                LOG.warn(
                                        "the lag of group {} is not up to date: {}",
                                        group,
                                        problem.toString());
                            }
                        });
    }
}
