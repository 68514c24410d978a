/**
 * A step with state that several others follow is run once in a batch.
 *
 * <p>To Spark a plan is a tree: where two steps follow a third, it stands in the plan twice, and
 * would read its input, keep its state and give its rows twice. {@link
 * io.headrace.sharing.Sharing} runs the first of them in each batch, keeps its rows for the batch,
 * and gives them wherever another stands.
 */
package io.headrace.sharing;
