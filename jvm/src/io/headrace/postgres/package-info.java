/**
 * PostgreSQL as a sink: rows and the ledger's record in one transaction, for each lane.
 *
 * <p>{@link io.headrace.postgres.PostgresSink} is the entrance; {@link
 * io.headrace.postgres.PostgresLane} runs in the tasks. What each crash leaves behind is described
 * in {@code docs/decisions/0041-a-ledger-in-every-sink.md}.
 */
package io.headrace.postgres;
