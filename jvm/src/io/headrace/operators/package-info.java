/**
 * The keyed operators: what Spark's own operators do not do, as {@code transformWithState}
 * processors.
 *
 * <p>One class is one operator. It extends {@link
 * org.apache.spark.sql.streaming.StatefulProcessor} and has a static {@code over(...)} that the
 * Python bridge calls: it takes rows and plain values and gives rows, so that nothing but data
 * frames, strings and numbers crosses the bridge. {@link io.headrace.operators.KeyedRows} does the
 * grouping for those that read columns, {@link io.headrace.operators.PackedRows} for those that pass
 * whole rows on.
 *
 * <p>The name of a state variable and the type of what it holds are part of every checkpoint:
 * changing either makes saved state unreadable, and the changelog has to say so.
 */
package io.headrace.operators;
