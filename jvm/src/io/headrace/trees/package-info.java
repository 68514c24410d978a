/**
 * Scores rows by boosted trees: a model is data that one small method walks through.
 *
 * <p>{@link io.headrace.trees.TreesFunction} is what the Python bridge calls. It gives a session the
 * SQL function that takes a model as a text and the features as columns.
 */
package io.headrace.trees;
