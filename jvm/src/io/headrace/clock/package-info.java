/**
 * The watermark, decided by us: one clock for each source that event time is needed of.
 *
 * <p>{@link io.headrace.clock.Clock} puts a second source beside the data, whose offset is the
 * watermark and all that its strategy has to know. Spark asks for the next offset on the driver
 * before each batch and writes it to its log before the batch runs: a batch that is run again has
 * the same watermark. What the batches before have shown comes from {@link
 * io.headrace.clock.Sightings}, an accumulator that the tasks fill row by row.
 */
package io.headrace.clock;
