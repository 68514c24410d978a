package io.headrace.delivery;

/**
 * A row on its way into a sink.
 *
 * @param key the bytes of its key, or null
 * @param value the encoded row; null takes the key's row away
 * @param version grows from row to row of a key, over batches and restarts; the same when a batch
 *     is delivered again
 */
public record OutgoingRow(byte[] key, byte[] value, long version) {}
