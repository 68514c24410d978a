package io.headrace.delivery;

import java.io.Serializable;
import java.util.Map;

/**
 * Which batch is to be written, as its lanes and the ledger know it.
 *
 * @param lineage the id of the checkpoint
 * @param batch Spark's number of the batch
 * @param lanes how many lanes share the batch
 * @param offsets where the batch ends in its sources
 * @param topics the output topics with the ids they have now
 */
public record BatchTerms(
        String lineage, long batch, int lanes, SourceOffsets offsets, Map<String, String> topics)
        implements Serializable {}
