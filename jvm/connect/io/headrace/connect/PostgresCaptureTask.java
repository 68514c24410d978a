package io.headrace.connect;

import io.debezium.config.CommonConnectorConfig;
import io.debezium.config.Configuration;
import io.debezium.connector.common.CdcSourceTaskContext;
import io.debezium.connector.postgresql.PostgresConnectorConfig;
import io.debezium.connector.postgresql.PostgresConnectorTask;
import io.debezium.connector.postgresql.PostgresOffsetContext;
import io.debezium.connector.postgresql.PostgresPartition;
import io.debezium.pipeline.ChangeEventSourceCoordinator;
import java.util.List;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Gives Connect only records after which it may be killed.
 *
 * <p>What one poll gives is one transaction of Kafka, positions included. Whatever is held back is
 * not in the log and lies behind the position there, so it is told again after a restart.
 */
public final class PostgresCaptureTask extends PostgresConnectorTask {
    private final WholeGroups groups = new WholeGroups();
    private boolean tellsTransactions;

    @Override
    public CdcSourceTaskContext<PostgresConnectorConfig> preStart(Configuration config) {
        return super.preStart(withTransactions(config));
    }

    @Override
    public ChangeEventSourceCoordinator<PostgresPartition, PostgresOffsetContext> start(
            Configuration config) {
        tellsTransactions = config.getBoolean(CommonConnectorConfig.PROVIDE_TRANSACTION_METADATA);
        // Also after a failure of the database, from which the task recovers by itself.
        groups.forget();
        return super.start(withTransactions(config));
    }

    @Override
    public List<SourceRecord> doPoll() throws InterruptedException {
        List<SourceRecord> whole = groups.add(super.doPoll());
        if (!tellsTransactions) {
            whole.removeIf(Offset::isOfTransaction);
        }
        return Offset.atEnd(whole);
    }

    /** Without the records of commits, the end of the last group would be known much later. */
    private static Configuration withTransactions(Configuration config) {
        return config.edit()
                .with(CommonConnectorConfig.PROVIDE_TRANSACTION_METADATA, true)
                .build();
    }
}
