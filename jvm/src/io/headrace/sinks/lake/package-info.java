/**
 * Sinks that take a batch as a frame: Delta tables, files, memory and the console.
 *
 * <p>Each is a {@link io.headrace.delivery.FrameSink} on the driver. {@link
 * io.headrace.sinks.lake.PackedValues} turns outgoing rows back into columns; {@link
 * io.headrace.sinks.lake.Mark} and {@link io.headrace.sinks.lake.Manifests} are ledgers on a file
 * system. What a crash leaves behind is told in {@code docs/sinks-lake.md}.
 */
package io.headrace.sinks.lake;
