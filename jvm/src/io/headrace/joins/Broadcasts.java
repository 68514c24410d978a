package io.headrace.joins;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.when;

import io.headrace.batches.DeadLetters;
import io.headrace.formats.Call;
import io.headrace.joins.TableCopy.Key;
import io.headrace.operators.Parcel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Joins a stream with a table that every task holds, so that the stream stays where it is read. */
public final class Broadcasts {
    private final Dataset<Row> events;
    private final Dataset<Row> changes;
    private final LookupTerms terms;
    private final Parcel key;
    private final Parcel row;
    private final TableBound bound;

    private Broadcasts(Dataset<Row> events, Dataset<Row> changes, LookupTerms terms) {
        this.events = events;
        this.changes = changes;
        this.terms = terms;
        this.key = new Parcel(events.select(Packed.columns(events, terms.key())).schema());
        this.row = new Parcel((StructType) changes.schema().apply("after").dataType());
        this.bound = new TableBound(terms.name(), terms.mostBytes());
    }

    /**
     * Looks rows up.
     *
     * <p>Spark reports a metric with each batch, {@code lookup.NAME}, as for {@link Lookups}.
     *
     * @param events the stream, with what every row carries
     * @param changes the net changes of the table's rows: {@code before} and {@code after}
     * @param stored the rows of the last committed batch as {@code after}; null if there is none
     * @param batch that batch's number, or -1
     * @param json the step's terms; see {@link LookupTerms}
     * @return what {@link Lookups} gives
     */
    public static Dataset<Row> over(
            Dataset<Row> events,
            Dataset<Row> changes,
            Dataset<Row> stored,
            long batch,
            String json) {
        return new Broadcasts(events, changes, LookupTerms.parse(json)).told(stored, batch);
    }

    private Dataset<Row> told(Dataset<Row> stored, long batch) {
        TableChanges taken = new TableChanges();
        events.sparkSession().sparkContext().register(taken);
        HeldTable.Stored before = new HeldTable.Stored(held(stored), batch);
        HeldTable table =
                new HeldTable(events.sparkSession(), before, key, row, taken, bound);
        Dataset<Row> told =
                answered(table)
                        .unionByName(deadLetters(taken))
                        .observe("lookup." + terms.name(), counts(), metrics());
        return told.where(col("_kind").notEqual(JoinedRows.TALLY));
    }

    /** Collects the rows of a table; one that is too large stops here. */
    private Map<Key, byte[]> held(Dataset<Row> stored) {
        Map<Key, byte[]> found = new HashMap<>();
        if (stored == null) {
            return found;
        }
        Dataset<Row> packed = stored.select(keyOf(col("after")), rowOf());
        long size = 0;
        for (Row one : (Iterable<Row>) packed::toLocalIterator) {
            byte[] bytes = one.getAs(1);
            found.put(new Key(one.getAs(0)), bytes);
            size += TableBound.size(one.getAs(0), bytes);
            bound.require(size);
        }
        return found;
    }

    private Dataset<Row> answered(HeldTable table) {
        Column asked = struct(Packed.columns(events, terms.key()));
        Column found = Call.of(table, "find", row.schema(), asked);
        Column isThere = col("_right").isNotNull();
        boolean isApart = terms.missing() == LookupTerms.Missing.SIDE_OUTPUT;
        int without = terms.tellsMissing() ? JoinedRows.JOINED : JoinedRows.TALLY;
        Column kind =
                when(DeadLetters.isDead(), JoinedRows.DEAD)
                        .when(isThere, JoinedRows.JOINED)
                        .otherwise(isApart ? JoinedRows.MISSING : without);
        List<Column> shown = new ArrayList<>();
        shown.add(kind.as("_kind"));
        shown.add(when(not(DeadLetters.isDead()), col("_left")).as("_left"));
        shown.add(col("_right"));
        shown.add(lit(null).cast(DataTypes.LongType).as("late_by_ms"));
        DeadLetters.CARRIED.forEach(name -> shown.add(col(name)));
        List<Column> given = new ArrayList<>(List.of(Packed.carried()));
        given.add(struct(Packed.living(events)).as("_left"));
        given.add(found.as("_right"));
        return events.select(given.toArray(Column[]::new))
                .select(shown.toArray(Column[]::new));
    }

    /** Takes the changes, and gives the dead letters behind them, in a stage of their own. */
    private Dataset<Row> deadLetters(TableChanges taken) {
        Column known = when(col("after").isNotNull(), col("after")).otherwise(col("before"));
        Column isDead = DeadLetters.isDead();
        Parcel carried = new Parcel(changes.select(Packed.carried()).schema());
        Dataset<Row> packed =
                changes.select(
                        when(not(isDead), keyOf(known)).as(Packed.KEY),
                        when(not(isDead).and(col("after").isNotNull()), rowOf()).as(Packed.ROW),
                        when(isDead, Packed.bytes(carried, Packed.carried())).as(Packed.CARRIED));
        Dataset<Row> dead =
                packed.mapPartitions(new TakeChanges(taken, bound), Encoders.BINARY())
                        .repartition(1)
                        .toDF(Packed.CARRIED)
                        .withColumn(
                                Packed.CARRIED,
                                Call.of(
                                        carried,
                                        "unpackIfAny",
                                        carried.schema(),
                                        col(Packed.CARRIED)));
        List<Column> shown = new ArrayList<>();
        shown.add(lit(JoinedRows.DEAD).as("_kind"));
        StructType left = events.select(Packed.living(events)).schema();
        shown.add(lit(null).cast(new Parcel(left).schema()).as("_left"));
        shown.add(lit(null).cast(row.schema()).as("_right"));
        shown.add(lit(null).cast(DataTypes.LongType).as("late_by_ms"));
        DeadLetters.CARRIED.forEach(
                name -> shown.add(col(Packed.CARRIED).getField(name).as(name)));
        return dead.select(shown.toArray(Column[]::new));
    }

    private Column keyOf(Column known) {
        Column[] columns =
                terms.tableKey().stream()
                        .map(name -> known.getField(name).as(name))
                        .toArray(Column[]::new);
        return Packed.bytes(key, columns);
    }

    private Column rowOf() {
        return Call.of(row, "pack", DataTypes.BinaryType, col("after"));
    }

    private static Column counts() {
        return count(lit(1)).as("in");
    }

    private static Column[] metrics() {
        Column matched = count(when(col("_right").isNotNull(), lit(1)));
        Column dead = Packed.number(JoinedRows.DEAD);
        return new Column[] {
            matched.as("matched"),
            count(lit(1)).minus(matched).minus(dead).as("missing"),
            lit(0L).as("late"),
            dead.as("dead_letters"),
            lit(0L).as("waiting"),
            Packed.number(JoinedRows.JOINED).as("results")
        };
    }
}
