/**
 * When the next batch begins.
 *
 * <p>Most of what a batch of ten events costs does not depend on the events. {@link
 * io.headrace.pace.PacedKafka} is Spark's own source of Kafka, which waits a moment before it says
 * what there is, so that batches of few events become fewer; {@link io.headrace.pace.Pace} says for
 * how long. It runs on the driver, on the query's own thread.
 */
package io.headrace.pace;
