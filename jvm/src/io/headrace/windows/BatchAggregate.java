package io.headrace.windows;

import static org.apache.spark.sql.functions.col;

import io.headrace.formats.Call;
import io.headrace.operators.Parcel;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.MapGroupsFunction;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Computes an {@link Aggregation} over a finished data set, as the operators do over a stream.
 *
 * <p>The events of a group are dealt to several buffers, and what these are stored as is merged:
 * the result is that of a key whose events were spread.
 */
public final class BatchAggregate implements MapGroupsFunction<Row, Row, Row> {
    private static final long serialVersionUID = 1L;

    private static final String KEY = "_key";
    private static final String ROW = "_row";

    private final Parcel events;
    private final Aggregation aggregation;
    private final int parts;
    private transient Evaluator evaluator;

    private BatchAggregate(Parcel events, Aggregation aggregation, int parts) {
        this.events = events;
        this.aggregation = aggregation;
        this.parts = parts;
    }

    /**
     * Aggregates rows by a column.
     *
     * @param rows the input, a finished data set
     * @param by the name of the column to group by; rows where it is null are one group
     * @param names what the results are called
     * @param texts for each name the text of an SQL expression of aggregate functions
     * @param parts how many buffers the rows of a group are dealt to, 1 at least
     * @return the column and the results
     */
    public static Dataset<Row> over(
            Dataset<Row> rows, String by, List<String> names, List<String> texts, int parts) {
        Parcel events = new Parcel(rows.schema());
        Column key = rows.col(Parcel.quoted(by));
        Dataset<Row> packed = rows.select(events.packed(rows).as(ROW), key.as(KEY));

        Aggregation aggregation =
                Aggregation.of(rows.sparkSession(), events.schema(), names, texts);
        StructType given =
                new StructType()
                        .add(packed.schema().apply(KEY))
                        .add(ROW, DataTypes.BinaryType, false);
        StructType keyed = packed.select(KEY).schema();
        Dataset<Row> results =
                packed.groupBy(col(KEY))
                        .as(Encoders.row(keyed), Encoders.row(packed.schema()))
                        .mapGroups(
                                new BatchAggregate(events, aggregation, parts),
                                Encoders.row(given));
        return unpacked(results, by, aggregation.result());
    }

    @Override
    public Row call(Row key, Iterator<Row> rows) {
        if (evaluator == null) {
            evaluator = aggregation.evaluator();
        }
        List<Buffer> buffers = new ArrayList<>();
        for (int part = 0; part < parts; part++) {
            buffers.add(evaluator.fresh());
        }
        for (int part = 0; rows.hasNext(); part = (part + 1) % parts) {
            byte[] event = rows.next().getAs(0);
            evaluator.update(buffers.get(part), events.unpack(event));
        }
        Buffer all = evaluator.fresh();
        for (Buffer buffer : buffers) {
            evaluator.merge(all, evaluator.load(evaluator.store(buffer)));
        }
        return RowFactory.create(key.get(0), evaluator.result(all));
    }

    private static Dataset<Row> unpacked(Dataset<Row> results, String by, StructType schema) {
        Column row = Call.of(new Parcel(schema), "unpack", schema, col(ROW));
        Dataset<Row> read = results.select(col(KEY).as(by), row.as(ROW));
        List<Column> given = new ArrayList<>();
        given.add(col(Parcel.quoted(by)));
        for (String name : schema.fieldNames()) {
            given.add(col(ROW).getField(name).as(name));
        }
        return read.select(given.toArray(Column[]::new));
    }
}
