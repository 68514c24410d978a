/**
 * Redis as a sink: one hash or one JSON text for each key, and the ledger beside them.
 *
 * <p>Redis runs one script at a time, so a script that first looks whether its sender still owns
 * the lane cannot be overtaken by a later owner. Everything that is written goes through one.
 */
package io.headrace.sinks.redis;
