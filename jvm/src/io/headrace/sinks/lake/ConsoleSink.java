package io.headrace.sinks.lake;

import static org.apache.spark.sql.functions.col;

import io.headrace.delivery.FrameSink;
import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.SinkTerms;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** Standard output: a table of the first rows of each batch; what is repeated is shown again. */
public final class ConsoleSink implements FrameSink {
    private static final int WIDEST = 40;

    private final String name;
    private final int most;
    private final PackedValues values;

    public ConsoleSink(SinkTerms terms) {
        name = terms.pipeline() + "." + terms.name();
        most = Integer.parseInt(terms.settings().get("rows"));
        values = new PackedValues(terms.settings().get("columns"));
    }

    @Override
    public void prepare() {}

    @Override
    public Map<String, String> targets() {
        return Map.of();
    }

    @Override
    public LedgerRecord last() {
        return null;
    }

    @Override
    public Set<String> adopts() {
        return Set.of("ledger");
    }

    @Override
    public void write(Dataset<Row> rows, long bytes, LedgerRecord record) {
        if (record.rows() == 0) {
            return;
        }
        Dataset<Row> first = rows.sort("place").where(col("value").isNotNull()).limit(most);
        String table =
                ((org.apache.spark.sql.classic.Dataset<Row>) values.columns(first))
                        .showString(most, WIDEST, false);
        long deleted = rows.where(col("value").isNull()).count();
        String title = name + ", batch " + record.terms().batch() + ": " + record.rows() + " rows";
        System.out.print(
                title + (deleted == 0 ? "" : ", " + deleted + " of them deletions") + "\n" + table);
        System.out.flush();
    }
}
