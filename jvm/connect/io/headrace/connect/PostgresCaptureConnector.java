package io.headrace.connect;

import io.debezium.connector.postgresql.PostgresConnector;
import org.apache.kafka.connect.connector.Task;

/** Debezium's connector for PostgreSQL, which can be killed between any two rows. */
public final class PostgresCaptureConnector extends PostgresConnector {
    @Override
    public Class<? extends Task> taskClass() {
        return PostgresCaptureTask.class;
    }
}
