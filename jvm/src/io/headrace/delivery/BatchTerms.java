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
 * @param topics what is written to, with the ids it has now: of topics, tables, indexes
 * @param generation how many other checkpoints the sink was written from before this one
 */
public record BatchTerms(
        String lineage,
        long batch,
        int lanes,
        SourceOffsets offsets,
        Map<String, String> topics,
        int generation)
        implements Serializable {

    /** The same batch in another number of lanes. */
    BatchTerms inLanes(int number) {
        return new BatchTerms(lineage, batch, number, offsets, topics, generation);
    }

    /** The same batch on its way to these targets. */
    BatchTerms into(Map<String, String> targets) {
        return new BatchTerms(lineage, batch, lanes, offsets, targets, generation);
    }

    /** The same batch of a later generation. */
    BatchTerms inGeneration(int number) {
        return new BatchTerms(lineage, batch, lanes, offsets, topics, number);
    }
}
