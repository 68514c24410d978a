/**
 * The batch that a query runs, as functions among Spark's own operators have to know it: its
 * watermark, how many rows it has of each sort, and the dead letters that are read apart.
 */
package io.headrace.batches;
