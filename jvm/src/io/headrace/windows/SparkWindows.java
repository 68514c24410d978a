package io.headrace.windows;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.max;
import static org.apache.spark.sql.functions.spark_partition_id;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.unix_micros;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.window;

import io.headrace.batches.DeadLetters;
import io.headrace.batches.RunningBatch;
import io.headrace.batches.Tallies;
import io.headrace.formats.Call;
import io.headrace.operators.Parcel;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;

/**
 * Windows as Spark's own aggregate evaluates them, in the form that our operator gives.
 *
 * <p>Spark's aggregate has no place for a dead letter, which belongs to no window. So dead letters
 * are read apart, if the batch has any; and late events are counted before Spark sees them.
 */
public final class SparkWindows {
    private static final String WINDOW = "_window";
    private static final String KIND = "_kind";
    private static final String[] COUNTS = {"_in", "_on_time", "_late"};

    private final Dataset<Row> rows;
    private final WindowTerms terms;
    private final Tallies tallies = new Tallies();
    private final Admission admission;

    private SparkWindows(Dataset<Row> rows, WindowTerms terms) {
        this.rows = rows;
        this.terms = terms;
        this.admission = new Admission(terms, new RunningBatch(rows.sparkSession()), tallies);
        rows.sparkSession().sparkContext().register(tallies);
    }

    /**
     * Puts events into windows that fire once, when they are complete.
     *
     * @param rows as for {@link Windows}, with an event time
     * @param json the step's terms: tumbling or hopping windows that drop late events
     * @return what {@link Windows} gives, with the same metric
     */
    public static Dataset<Row> over(Dataset<Row> rows, String json) {
        return new SparkWindows(rows, WindowTerms.parse(json)).told();
    }

    private Dataset<Row> told() {
        Dataset<Row> panes = panes();
        return panes.unionByName(deadLetters(panes.schema().apply("_pane").dataType()))
                .observe(
                        "window." + terms.name(),
                        number(PaneRows.PANE).as("panes"),
                        lit(0L).as("retractions"),
                        // Each task of the second reading tells all that the first has counted.
                        coalesce(max(COUNTS[0]), lit(0L)).as("in"),
                        coalesce(max(COUNTS[1]), lit(0L)).as("on_time"),
                        coalesce(max(COUNTS[2]), lit(0L)).as("late"),
                        number(PaneRows.DEAD).as("dead_letters"))
                .where(col(KIND).notEqual(PaneRows.TALLY))
                .drop(COUNTS);
    }

    private Dataset<Row> panes() {
        List<Column> keys = new ArrayList<>();
        terms.by().forEach(name -> keys.add(col(Parcel.quoted(name))));
        keys.add(col(WINDOW));
        List<Column> results = new ArrayList<>();
        for (int i = 0; i < terms.names().size(); i++) {
            results.add(expr(terms.aggregates().get(i)).as(terms.names().get(i)));
        }
        Dataset<Row> complete =
                placed().groupBy(keys.toArray(Column[]::new))
                        .agg(
                                results.get(0),
                                results.subList(1, results.size()).toArray(Column[]::new));
        if (terms.having()) {
            complete = complete.where(col(terms.names().get(terms.names().size() - 1)));
        }
        return complete.select(
                lit(PaneRows.PANE).as(KIND),
                pane().as("_pane"),
                lit(null).cast(rows.schema()).as("_event"),
                nothing().as("late_by_ms"),
                nothing().as(COUNTS[0]),
                nothing().as(COUNTS[1]),
                nothing().as(COUNTS[2]));
    }

    /** Gives each event with each of its windows that is not over. */
    private Dataset<Row> placed() {
        Column time = col(Parcel.quoted(terms.time()));
        Column micros = coalesce(unix_micros(time), lit(Admission.NO_TIME));
        Dataset<Row> placed =
                rows.where(asked("admits", DeadLetters.isDead(), micros, spark_partition_id()))
                        .withColumn(terms.time(), time.as(terms.time(), marked()))
                        .withColumn(
                                WINDOW,
                                window(
                                        time,
                                        length(terms.size()),
                                        length(terms.every()),
                                        length(Math.floorMod(terms.offset(), terms.every()))));
        return terms.size() == terms.every()
                ? placed
                : placed.where(asked("isOpen", unix_micros(col(WINDOW + ".end"))));
    }

    /** Marks the event time as such, by which Spark knows when a window is complete. */
    private Metadata marked() {
        Metadata given = rows.schema().apply(terms.time()).metadata();
        String mark = EventTimeWatermark.delayKey();
        return given.contains(mark)
                ? given
                : new MetadataBuilder().withMetadata(given).putLong(mark, 0).build();
    }

    private Column asked(String question, Column... given) {
        return Call.of(admission, question, DataTypes.BooleanType, given);
    }

    private Column pane() {
        List<Column> pane = new ArrayList<>();
        terms.by().forEach(name -> pane.add(col(Parcel.quoted(name))));
        pane.add(col(WINDOW + ".start").as("window_start"));
        pane.add(col(WINDOW + ".end").as("window_end"));
        int shown = terms.names().size() - (terms.having() ? 1 : 0);
        terms.names().subList(0, shown).forEach(name -> pane.add(col(Parcel.quoted(name))));
        pane.add(lit("on-time").as("pane"));
        pane.add(lit(1L).as("pane_number"));
        pane.add(lit(true).as("is_final"));
        pane.add(lit(false).as("is_retraction"));
        pane.add(expr(Windows.iso("unix_micros(" + WINDOW + ".start)")).as("_place"));
        return struct(pane.toArray(Column[]::new));
    }

    /** Gives the dead letters, and what the first reading has counted. */
    private Dataset<Row> deadLetters(DataType pane) {
        return DeadLetters.of(rows, tallies)
                .select(
                        col(KIND),
                        lit(null).cast(pane).as("_pane"),
                        when(col(DeadLetters.ROW).isNotNull(), event()).as("_event"),
                        nothing().as("late_by_ms"),
                        col(COUNTS[0]),
                        col(COUNTS[1]),
                        col(COUNTS[2]));
    }

    /** The columns of a dead letter: of those that an event has it has none. */
    private Column event() {
        List<String> carried = DeadLetters.carried(rows);
        List<Column> fields = new ArrayList<>();
        for (StructField field : rows.schema().fields()) {
            Column value =
                    carried.contains(field.name())
                            ? col(DeadLetters.ROW).getField(field.name())
                            : lit(null).cast(field.dataType());
            fields.add(value.as(field.name()));
        }
        return struct(fields.toArray(Column[]::new));
    }

    private static Column nothing() {
        return lit(null).cast(DataTypes.LongType);
    }

    private static Column number(int kind) {
        return count(when(col(KIND).equalTo(kind), lit(1)));
    }

    private static String length(long micros) {
        return micros + " microseconds";
    }
}
