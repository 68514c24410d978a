/**
 * Joins: rows of two streams, or of a stream and a table, put together by key and time.
 *
 * <p>{@link io.headrace.joins.Joins} is what the Python bridge calls for two streams. {@link
 * io.headrace.joins.IntervalJoin} keeps the rows of a key until no partner can come, on {@link
 * io.headrace.joins.Shelf shelves} of some time each.
 */
package io.headrace.joins;
