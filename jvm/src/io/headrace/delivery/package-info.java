/**
 * Delivery into Kafka, exactly once: lanes, the ledger, and what is refused.
 *
 * <p>{@link io.headrace.delivery.Delivery} is the entrance. {@link
 * io.headrace.delivery.BatchWriter} runs on the driver, once for each batch; {@link
 * io.headrace.delivery.LaneWriter} runs in the tasks, once for each lane; {@link
 * io.headrace.delivery.Verdict} decides whether a lane writes a batch. The protocol and what each
 * crash leaves behind are described in {@code docs/delivery.md}.
 */
package io.headrace.delivery;
