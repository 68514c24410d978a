/**
 * Delivery into sinks, exactly once: lanes, ledgers, and what is refused.
 *
 * <p>{@link io.headrace.delivery.Delivery} is the entrance. {@link
 * io.headrace.delivery.BatchWriter} runs on the driver, once for each batch, and starts a {@link
 * io.headrace.delivery.SinkJob} for all topics of Kafka and one for each other sink. {@link
 * io.headrace.delivery.LaneWriter} runs in the tasks of Kafka's lanes, {@link
 * io.headrace.delivery.SinkWriter} in those of a {@link io.headrace.delivery.RowSink}; a {@link
 * io.headrace.delivery.FrameSink} writes by itself. {@link io.headrace.delivery.Verdict} decides
 * whether a batch is written. {@link io.headrace.delivery.SinkSystems} names the systems. The
 * protocol and what each crash leaves behind are described in {@code docs/delivery.md}.
 */
package io.headrace.delivery;
