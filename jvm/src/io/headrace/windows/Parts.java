package io.headrace.windows;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.pmod;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.xxhash64;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.FlatMapGroupsFunction;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Puts the parts of keys together whose events were spread over several states.
 *
 * <p>All parts of a window fire in the batch in which the watermark passes its end, so what they
 * have gathered meets here without a state of its own. Rows that are no panes pass.
 */
final class Parts implements FlatMapGroupsFunction<Row, Row, Row> {
    private static final long serialVersionUID = 1L;
    private static final String OTHER = "_other";
    private static final int SPREADS = 256;

    private final WindowTerms terms;
    private final Aggregation aggregation;
    private transient Evaluator evaluator;

    private Parts(WindowTerms terms, Aggregation aggregation) {
        this.terms = terms;
        this.aggregation = aggregation;
    }

    /** Gives one pane for the panes of all parts of a key's window. */
    static Dataset<Row> joined(Dataset<Row> fired, WindowTerms terms, Aggregation aggregation) {
        StructType schema = fired.schema();
        List<Column> key = new ArrayList<>();
        key.add(col("_by"));
        key.add(col("_start"));
        key.add(col("_end"));
        key.add(col(OTHER));
        // What is no pane has none of the columns above, and is spread over all partitions.
        Column other =
                when(
                        col("_kind").notEqual(PaneRows.PANE),
                        pmod(xxhash64(col("_row")), lit(SPREADS)).cast(DataTypes.IntegerType));
        Dataset<Row> told = fired.withColumn(OTHER, other);
        Column[] keys = key.toArray(Column[]::new);
        return told.groupBy(keys)
                .as(Encoders.row(told.select(keys).schema()), Encoders.row(told.schema()))
                .flatMapGroups(new Parts(terms, aggregation), Encoders.row(schema));
    }

    @Override
    public Iterator<Row> call(Row key, Iterator<Row> rows) {
        List<Row> found = new ArrayList<>();
        boolean isPane = key.isNullAt(key.length() - 1);
        if (!isPane) {
            rows.forEachRemaining(row -> found.add(withResult(row, null)));
            return found.iterator();
        }
        if (evaluator == null) {
            evaluator = aggregation.evaluator();
        }
        Buffer whole = evaluator.fresh();
        Row last = null;
        while (rows.hasNext()) {
            last = rows.next();
            evaluator.merge(whole, evaluator.load(last.getAs(PaneRows.RESULT)));
        }
        byte[] result = evaluator.result(whole);
        int having = aggregation.result().length() - 1;
        if (!terms.having() || WindowProcessor.isTrue(result, having)) {
            found.add(withResult(last, result));
        }
        return found.iterator();
    }

    /** Gives a row without the column it was grouped by. */
    private static Row withResult(Row row, byte[] result) {
        Object[] values = new Object[row.length() - 1];
        for (int i = 0; i < values.length; i++) {
            values[i] = row.get(i);
        }
        values[PaneRows.RESULT] = result;
        return RowFactory.create(values);
    }
}
