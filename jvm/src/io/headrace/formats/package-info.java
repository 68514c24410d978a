/**
 * Reads the bytes of the log into typed columns, and writes typed columns as bytes.
 *
 * <p>{@link io.headrace.formats.Decode} and {@link io.headrace.formats.Encode} are what the Python
 * bridge calls. A format is a {@link io.headrace.formats.Reader} and a {@link
 * io.headrace.formats.Writer}: JSON, Avro and Protobuf, the last two and JSON Schema behind
 * Confluent's wire header.
 *
 * <p>A value that cannot be read never fails a batch. The reader throws {@link
 * io.headrace.formats.Unreadable} with a {@link io.headrace.formats.Reason}, and the row goes on as
 * a dead letter. What concerns every value alike, such as a registry that does not answer, is a
 * {@link io.headrace.formats.FormatFailure} and does fail the batch.
 */
package io.headrace.formats;
