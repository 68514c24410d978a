package io.headrace.windows;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.pmod;
import static org.apache.spark.sql.functions.spark_partition_id;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.xxhash64;

import io.headrace.formats.Call;
import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
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

/**
 * Puts the parts of keys together whose events were spread over several states.
 *
 * <p>All parts of a window fire in the batch in which the watermark passes its end, so what they
 * have gathered meets here without a state of its own. A key's panes and late events leave in the
 * order in which one operator would have given them, and parts are merged in the order of their
 * numbers: sums of floating-point numbers are the same when a batch is repeated. Other rows pass.
 */
final class Parts implements FlatMapGroupsFunction<Row, Row, Row> {
    private static final long serialVersionUID = 1L;
    private static final String OTHER = "_other";
    private static final String ORDER = "_order";
    private static final int SPREADS = 256;

    private final WindowTerms terms;
    private final Aggregation aggregation;
    private transient Evaluator evaluator;

    private Parts(WindowTerms terms, Aggregation aggregation) {
        this.terms = terms;
        this.aggregation = aggregation;
    }

    /** Gives one pane for the panes of all parts of a key's window. */
    static Dataset<Row> joined(
            Dataset<Row> fired, WindowTerms terms, Aggregation aggregation, Parcel events) {
        // Rows without a key are spread; tallies have no bytes, and there is one for each key.
        Column other = pmod(xxhash64(col("_row"), spark_partition_id()), lit(SPREADS));
        Column isLate = col("_kind").equalTo(PaneRows.LATE);
        Dataset<Row> told =
                fired.withColumn(
                                OTHER,
                                when(col("_by").isNull(), other.cast(DataTypes.IntegerType)))
                        .withColumn(ORDER, when(isLate, order(terms, events)));
        Column[] keys = {col("_by"), col(OTHER)};
        Column[] order = {col("_kind"), col("_end"), col("_start"), col("_part"), col(ORDER)};
        return told.groupBy(keys)
                .as(Encoders.row(told.select(keys).schema()), Encoders.row(told.schema()))
                .flatMapSortedGroups(
                        order, new Parts(terms, aggregation), Encoders.row(fired.schema()));
    }

    /** What late events are put in order by: their time, then where they came from. */
    private static Column order(WindowTerms terms, Parcel events) {
        Column event = Call.of(events, "unpackIfAny", events.schema(), col("_row"));
        List<Column> order = new ArrayList<>();
        order.add(event.getField(terms.time()));
        if (List.of(events.schema().fieldNames()).contains(Arrivals.ORIGIN)) {
            for (String name : List.of("partition", "offset", "topic")) {
                order.add(event.getField(Arrivals.ORIGIN).getField(name));
            }
        }
        return struct(order.toArray(Column[]::new));
    }

    @Override
    public Iterator<Row> call(Row key, Iterator<Row> rows) {
        if (evaluator == null) {
            evaluator = aggregation.evaluator();
        }
        return new Joining(rows);
    }

    /** Reads the rows of a key one by one, as a key can have more than memory holds. */
    private final class Joining implements Iterator<Row> {
        private final Iterator<Row> rows;

        /** The row that was read last and has not been looked at. */
        private Row ahead;

        private Row next;

        Joining(Iterator<Row> rows) {
            this.rows = rows;
            read();
            advance();
        }

        @Override
        public boolean hasNext() {
            return next != null;
        }

        @Override
        public Row next() {
            Row given = next;
            advance();
            return given;
        }

        private void read() {
            ahead = rows.hasNext() ? rows.next() : null;
        }

        /** Looks for the next row to give; a pane that is not wanted is none. */
        private void advance() {
            next = null;
            while (next == null && ahead != null) {
                Row first = ahead;
                boolean isPane = first.getInt(PaneRows.KIND) == PaneRows.PANE;
                byte[] result = isPane ? joined(first) : null;
                if (!isPane) {
                    read();
                }
                if (!isPane || isWanted(result)) {
                    next = withResult(first, result);
                }
            }
        }

        /** Gives what the parts of a window come to; they follow one another. */
        private byte[] joined(Row first) {
            Buffer whole = evaluator.fresh();
            while (ahead != null && isOfWindow(ahead, first)) {
                evaluator.merge(whole, evaluator.load(ahead.getAs(PaneRows.RESULT)));
                read();
            }
            return evaluator.result(whole);
        }
    }

    private static boolean isOfWindow(Row row, Row first) {
        return row.getInt(PaneRows.KIND) == PaneRows.PANE
                && row.getLong(PaneRows.START) == first.getLong(PaneRows.START)
                && row.getLong(PaneRows.END) == first.getLong(PaneRows.END);
    }

    private boolean isWanted(byte[] result) {
        int having = aggregation.result().length() - 1;
        return !terms.having() || WindowOperator.isTrue(result, having);
    }

    /** Gives a row without the columns it was put in place by. */
    private static Row withResult(Row row, byte[] result) {
        Object[] values = new Object[row.length() - 2];
        for (int i = 0; i < values.length; i++) {
            values[i] = row.get(i);
        }
        values[PaneRows.RESULT] = result;
        return RowFactory.create(values);
    }
}
