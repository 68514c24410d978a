/**
 * Windows: events gathered by time, by key and by count, and the panes they fire.
 *
 * <p>{@link io.headrace.windows.Aggregation} runs Spark's own aggregate functions, one event after
 * the other, over buffers that the state store keeps.
 *
 * <p>The fields of a stored buffer are part of every checkpoint: other aggregates, or a Spark whose
 * functions keep other fields, make saved state unreadable, and the changelog has to say so.
 */
package io.headrace.windows;
