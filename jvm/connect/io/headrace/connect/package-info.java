/**
 * Connectors that run inside Kafka Connect, beside Debezium's own.
 *
 * <p>{@link io.headrace.connect.PostgresCaptureConnector} is Debezium's connector for PostgreSQL,
 * except that it commits no position from which changes would be passed over; {@link
 * io.headrace.connect.WholeGroups} says which positions those are.
 */
package io.headrace.connect;
