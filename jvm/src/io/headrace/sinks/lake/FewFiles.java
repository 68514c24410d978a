package io.headrace.sinks.lake;

import io.headrace.sinks.Names;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * Spreads rows over as many tasks as there should be files: each task writes one.
 *
 * @param values the columns of the rows
 * @param partitions the columns by which files lie in directories
 */
record FewFiles(PackedValues values, List<String> partitions) {
    /** How many bytes of packed rows make a file. */
    private static final long FILE_BYTES = 128L << 20;

    /**
     * Gives the columns of rows, in few tasks where there are few rows.
     *
     * @param rows outgoing ones, cached
     * @param bytes of all their values
     */
    Dataset<Row> of(Dataset<Row> rows, long bytes) {
        if (!partitions.isEmpty()) {
            // Otherwise each task would write a file into each directory.
            return values.columns(rows).repartition(Names.columns(partitions));
        }
        return values.columns(rows.coalesce((int) (bytes / FILE_BYTES) + 1));
    }
}
