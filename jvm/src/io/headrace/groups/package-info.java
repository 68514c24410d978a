/**
 * Aggregates over tables: totals that rows are added to and taken back from.
 *
 * <p>{@link io.headrace.groups.Groups} is what the Python bridge calls. What a state variable is
 * called and holds is part of every checkpoint: changing it makes saved state unreadable.
 */
package io.headrace.groups;
