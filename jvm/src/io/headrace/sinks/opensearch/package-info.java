/**
 * OpenSearch as a sink: one document for each key, and the ledger in an index of its own.
 *
 * <p>There is no transaction, so every write carries the version of its row, and OpenSearch takes
 * none that is not newer than what it holds. What an earlier owner of a lane still sends is
 * therefore older, and changes nothing.
 */
package io.headrace.sinks.opensearch;
