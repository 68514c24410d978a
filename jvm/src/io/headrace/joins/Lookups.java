package io.headrace.joins;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.unix_micros;
import static org.apache.spark.sql.functions.when;

import io.headrace.batches.Before;
import io.headrace.formats.Call;
import io.headrace.joins.LookupTerms.When;
import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Joins a stream with a table, as the table was at each event's time. */
public final class Lookups {
    private Lookups() {}

    /**
     * Looks rows up.
     *
     * <p>Spark reports a metric with each batch, {@code lookup.NAME}: {@code in}, which {@code
     * matched}, {@code missing}, {@code late}, {@code dead_letters} and {@code waiting} add up to,
     * the last being by how many more events wait than before; and {@code results}.
     *
     * @param events the stream, with a watermark, and with what every row carries
     * @param changes every change of the table's rows: {@code before}, {@code after}, {@code
     *     position}, which is its turn in the batch, and {@code changed_at}
     * @param json the step's terms; see {@link LookupTerms}
     * @return {@code _kind} (0 a result, 1 a late event, 2 a dead letter, 4 an event without a row),
     *     {@code _left}, {@code _right}, {@code late_by_ms}, and what every row carries
     */
    public static Dataset<Row> over(Dataset<Row> events, Dataset<Row> changes, String json) {
        LookupTerms terms = LookupTerms.parse(json);
        // State stores report to a coordinator that only exists once the session's stream manager
        // does. A finished data set in a session without a stream would fail for want of it.
        events.sparkSession().streams();

        Parcel event = new Parcel(events.select(Packed.living(events)).schema());
        Parcel row = new Parcel((StructType) changes.schema().apply("after").dataType());
        Parcel carried = new Parcel(events.select(Packed.carried()).schema());
        Parcel key = new Parcel(events.select(Packed.columns(events, terms.key())).schema());
        Column before =
                terms.behind() < 0
                        ? lit(0L).as(Before.COLUMN)
                        : Before.column(events.sparkSession());
        Dataset<Row> both =
                packedEvents(events, terms, event, key, carried, before)
                        .union(packedChanges(changes, terms, row, key, carried));
        boolean isSettled = terms.when() == When.SETTLED;
        KeyValueGroupedDataset<Row, Row> groups =
                isSettled ? Packed.buckets(both, terms.buckets()) : Packed.groups(both);
        Dataset<Row> given =
                groups.transformWithState(
                        isSettled ? new SettledJoin(terms) : new LookupJoin(terms),
                        TimeMode.EventTime(),
                        OutputMode.Append(),
                        Encoders.row(JoinedRows.schema()));
        return Packed.shaped(observed(given, terms), event, row, carried);
    }

    private static Dataset<Row> packedEvents(
            Dataset<Row> rows,
            LookupTerms terms,
            Parcel event,
            Parcel key,
            Parcel carried,
            Column before) {
        Column time = unix_micros(rows.col(Parcel.quoted(terms.time())));
        Column isDead = rows.col(Arrivals.DEAD).isNotNull();
        Column[] keys = Packed.columns(rows, terms.key());
        Column belongs = not(isDead).and(time.isNotNull());
        for (Column part : keys) {
            belongs = belongs.and(part.isNotNull());
        }
        return rows.select(
                Packed.bytes(event, Packed.living(rows)).as(Packed.ROW),
                lit(true).as("_is_left"),
                time.as("_at"),
                when(isDead, Packed.bytes(carried, Packed.carried())).as(Packed.CARRIED),
                before,
                lit(0L).as("_turn"),
                when(belongs, Packed.bytes(key, keys)).as(Packed.KEY));
    }

    private static Dataset<Row> packedChanges(
            Dataset<Row> rows, LookupTerms terms, Parcel row, Parcel key, Parcel carried) {
        Column isDead = rows.col(Arrivals.DEAD).isNotNull();
        Column known = when(col("after").isNotNull(), col("after")).otherwise(col("before"));
        Column[] keys =
                terms.tableKey().stream()
                        .map(name -> known.getField(name).as(name))
                        .toArray(Column[]::new);
        Column bytes = Call.of(row, "pack", DataTypes.BinaryType, col("after"));
        return rows.select(
                when(col("after").isNotNull(), bytes).as(Packed.ROW),
                lit(false).as("_is_left"),
                unix_micros(col("changed_at")).as("_at"),
                when(isDead, Packed.bytes(carried, Packed.carried())).as(Packed.CARRIED),
                lit(0L).as(Before.COLUMN),
                when(not(isDead), col("position")).otherwise(lit(0L)).as("_turn"),
                when(not(isDead), Call.of(key, "pack", DataTypes.BinaryType, struct(keys)))
                        .as(Packed.KEY));
    }

    private static Dataset<Row> observed(Dataset<Row> given, LookupTerms terms) {
        Column in = Packed.total("_in");
        Column dead = Packed.number(JoinedRows.DEAD);
        Column matched = Packed.total("_matched");
        Column missing = Packed.total("_unmatched");
        Column late = Packed.total("_late");
        return given.observe(
                        "lookup." + terms.name(),
                        in.as("in"),
                        matched.as("matched"),
                        missing.as("missing"),
                        late.as("late"),
                        dead.as("dead_letters"),
                        in.minus(matched).minus(missing).minus(late).minus(dead).as("waiting"),
                        Packed.number(JoinedRows.JOINED).as("results"))
                .where(col("_kind").notEqual(JoinedRows.TALLY));
    }
}
