package io.headrace.sinks.lake;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.length;
import static org.apache.spark.sql.functions.sum;

import io.headrace.sinks.Names;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** Spreads rows over as many tasks as there should be files: each task writes one. */
final class FewFiles {
    /** How many bytes of packed rows make a file. */
    private static final long FILE_BYTES = 128L << 20;

    private FewFiles() {}

    /**
     * Gives the columns of rows, in few tasks where there are few rows.
     *
     * @param rows outgoing ones, cached
     * @param partitions the columns by which files lie in directories
     */
    static Dataset<Row> of(Dataset<Row> rows, PackedValues values, List<String> partitions) {
        if (!partitions.isEmpty()) {
            // Otherwise each task would write a file into each directory.
            return values.columns(rows).repartition(Names.columns(partitions));
        }
        long bytes = rows.agg(sum(length(col("value")))).head().getLong(0);
        return values.columns(rows.coalesce((int) (bytes / FILE_BYTES) + 1));
    }
}
