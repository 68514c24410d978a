package io.headrace.sinks.lake;

import io.headrace.sinks.Names;
import java.util.List;
import java.util.Map;

/** What a Delta sink was told, as text from Python, read by name. */
record DeltaSettings(Map<String, String> given) {
    /** The table's path or name. */
    String place() {
        return given.get("place");
    }

    /** The columns, as Spark writes a schema in JSON. */
    String columns() {
        return given.get("columns");
    }

    boolean merges() {
        return given.get("mode").equals("merge");
    }

    /** The columns of the key; only in a merge. */
    List<String> keys() {
        return Names.read(given.getOrDefault("key", "[]"));
    }

    List<String> partitions() {
        return Names.read(given.getOrDefault("partition_by", "[]"));
    }

    boolean optimisesAfter(int batches) {
        int every = Integer.parseInt(given.getOrDefault("optimise_every", "0"));
        return every > 0 && batches >= every;
    }
}
