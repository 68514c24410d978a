/**
 * Tables: the last row of each key, kept up to date by a log of changes.
 *
 * <p>{@link io.headrace.tables.Tables} is what the Python bridge calls. {@link
 * io.headrace.tables.TableKeeper} holds the rows and gives the net change of each key and batch;
 * {@link io.headrace.tables.Kept} is what it holds of a key, and says what it has seen already.
 */
package io.headrace.tables;
