package io.headrace.windows;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.pmod;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.sum;
import static org.apache.spark.sql.functions.unix_micros;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.xxhash64;

import io.headrace.batches.Before;
import io.headrace.formats.Call;
import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.KeyValueGroupedDataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;

/**
 * Gathers events in windows by key, and gives a pane each time a window fires.
 *
 * <p>Beside the panes it gives the events that came too late, and lets dead letters pass, each kind
 * of row told apart by {@code _kind}; so one operator and one state serve them all.
 */
public final class Windows {
    /** The bounds of a window that the event's columns tell. */
    static final String START = "_window_start";

    static final String END = "_window_end";

    private static final String ROW = "_row";
    private static final String KEY = "_key";
    private static final String BUCKET = "_bucket";
    private static final String STRETCH = "_stretch";
    private static final String CELL = "_cell";
    private static final String SPREAD = "_spread";
    private static final String PART = "_part";
    private static final String OWN = "_own";
    private static final int SPREADS = 256;

    private Windows() {}

    /**
     * Puts events into windows.
     *
     * <p>Spark reports a metric with each batch, {@code window.NAME}: {@code panes}, {@code
     * retractions}, and {@code in}, which {@code on_time}, {@code late} and {@code dead_letters}
     * add up to.
     *
     * @param rows the input, with a watermark; {@code _origin} orders events of one time, and {@code
     *     _dead} marks dead letters, where there are such columns
     * @param json the step's terms; see {@link WindowTerms}
     * @return {@code _kind} (0 a pane, 1 a late event, 2 a dead letter), {@code _pane}, {@code
     *     _event} and {@code late_by_ms}
     */
    public static Dataset<Row> over(Dataset<Row> rows, String json) {
        WindowTerms terms = WindowTerms.parse(json);
        // State stores report to a coordinator that only exists once the session's stream manager
        // does. A finished data set in a session without a stream would fail for want of it.
        rows.sparkSession().streams();

        Dataset<Row> bounded = bounded(rows, terms);
        Parcel parcel = new Parcel(bounded.schema());
        Aggregation aggregation =
                Aggregation.of(
                        rows.sparkSession(),
                        parcel.schema(),
                        terms.names(),
                        terms.aggregates());
        Parcel by = new Parcel(rows.select(by(rows, terms)).schema());
        boolean isTimed = !terms.kind().equals("counted");
        Dataset<Row> fired =
                groups(bounded, terms, parcel, by)
                        .transformWithState(
                                operator(terms, aggregation, parcel),
                                isTimed ? TimeMode.EventTime() : TimeMode.None(),
                                OutputMode.Append(),
                                Encoders.row(PaneRows.schema()));
        Dataset<Row> whole =
                terms.spread() > 0 ? Parts.joined(fired, terms, aggregation, parcel) : fired;
        Dataset<Row> given =
                whole.observe(
                                "window." + terms.name(),
                                number(col("_retraction").equalTo(lit(false))).as("panes"),
                                number(col("_retraction")).as("retractions"),
                                coalesce(sum("_in"), lit(0L)).as("in"),
                                coalesce(sum("_on_time"), lit(0L)).as("on_time"),
                                coalesce(sum("_late"), lit(0L)).as("late"),
                                number(kind().equalTo(PaneRows.DEAD)).as("dead_letters"))
                        .where(kind().notEqual(PaneRows.TALLY));
        return shaped(unpacked(given, parcel, by, aggregation), rows, terms);
    }

    private static WindowOperator operator(
            WindowTerms terms, Aggregation aggregation, Parcel parcel) {
        if (terms.isBucketed()) {
            return new BucketedWindows(terms, aggregation, parcel);
        }
        if (terms.isCorrected()) {
            return new CorrectedWindows(terms, aggregation, parcel);
        }
        switch (terms.kind()) {
            case "sessions":
                return new SessionWindows(terms, aggregation, parcel);
            case "counted":
                return new CountedWindows(terms, aggregation, parcel);
            case "sliding":
                return new SlidingWindows(terms, aggregation, parcel);
            default:
                return new AlignedWindows(terms, aggregation, parcel);
        }
    }

    private static Dataset<Row> bounded(Dataset<Row> rows, WindowTerms terms) {
        if (terms.start() == null) {
            return rows;
        }
        Column alive = has(rows, Arrivals.DEAD) ? col(Arrivals.DEAD).isNull() : lit(true);
        return rows.withColumn(START, when(alive, unix_micros(expr(terms.start()))))
                .withColumn(END, when(alive, unix_micros(expr(terms.end()))));
    }

    /** Groups packed rows. Dead letters and events without a time belong to no key. */
    private static KeyValueGroupedDataset<Row, Row> groups(
            Dataset<Row> rows, WindowTerms terms, Parcel parcel, Parcel by) {
        Column belongs = lit(true);
        if (has(rows, Arrivals.DEAD)) {
            belongs = belongs.and(rows.col(Arrivals.DEAD).isNull());
        }
        if (terms.time() != null && !terms.kind().equals("counted")) {
            belongs = belongs.and(rows.col(Parcel.quoted(terms.time())).isNotNull());
        }
        Column key = Call.of(by, "packKey", DataTypes.BinaryType, struct(by(rows, terms)));
        Dataset<Row> grouped =
                rows.select(
                                parcel.packed(rows).as(ROW),
                                when(belongs, key).as(KEY));
        if (terms.isBehind() || terms.isCorrected()) {
            grouped = grouped.withColumn(Before.COLUMN, Before.column(rows.sparkSession()));
        }
        Map<String, Column> groups = groupedBy(terms);
        for (Map.Entry<String, Column> each : groups.entrySet()) {
            grouped = grouped.withColumn(each.getKey(), each.getValue());
        }
        Column[] keyed = groups.keySet().stream().map(Column::new).toArray(Column[]::new);
        // Spark binds a row by position and wants all columns bound, the key's too.
        return grouped.groupBy(keyed)
                .as(Encoders.row(grouped.select(keyed).schema()), Encoders.row(grouped.schema()));
    }

    /** What rows are grouped by. Those that belong to no key are spread over all partitions. */
    private static Map<String, Column> groupedBy(WindowTerms terms) {
        Map<String, Column> columns = new LinkedHashMap<>();
        Column bucket = spread(coalesce(col(KEY), col(ROW)), terms.buckets());
        // For the cells of the state store; rows have none.
        Column none = lit(null).cast(DataTypes.LongType);
        if (terms.isBucketed()) {
            columns.put(BUCKET, bucket);
            columns.put(STRETCH, none);
            return columns;
        }
        if (terms.isCorrected()) {
            // The other way round, so that neither takes the other's state for its own.
            columns.put(CELL, none);
            columns.put(BUCKET, bucket);
            return columns;
        }
        columns.put(KEY, col(KEY));
        columns.put(SPREAD, when(col(KEY).isNull(), spread(col(ROW), SPREADS)));
        if (terms.spread() > 0) {
            columns.put(PART, spread(col(ROW), terms.spread()));
        }
        if (terms.isStaggered()) {
            // Their bounds were others once, and state of those is not to be gone on with.
            columns.put(OWN, lit(true));
        }
        return columns;
    }

    /** The columns of the key; a step without any has one key for all. */
    private static Column[] by(Dataset<Row> rows, WindowTerms terms) {
        return terms.by().isEmpty()
                ? new Column[] {lit(true).as("all")}
                : terms.by().stream().map(name -> rows.col(Parcel.quoted(name))).toArray(Column[]::new);
    }

    private static Column spread(Column bytes, int parts) {
        return pmod(xxhash64(bytes), lit(parts)).cast(DataTypes.IntegerType);
    }

    /** Turns the bytes of events, keys and results into structs. */
    private static Dataset<Row> unpacked(
            Dataset<Row> given, Parcel parcel, Parcel by, Aggregation aggregation) {
        return given.withColumns(
                Map.of(
                        ROW, taken(parcel, ROW),
                        "_by", Call.of(by, "unpackKeyIfAny", by.schema(), col("_by")),
                        "_result", taken(new Parcel(aggregation.result()), "_result")));
    }

    private static Column taken(Parcel parcel, String column) {
        return Call.of(parcel, "unpackIfAny", parcel.schema(), col(column));
    }

    /** Gives panes, and the events of other rows, as structs; each is null where there is none. */
    private static Dataset<Row> shaped(
            Dataset<Row> unpacked, Dataset<Row> rows, WindowTerms terms) {
        List<Column> pane = new ArrayList<>();
        terms.by().forEach(name -> pane.add(col("_by").getField(name).as(name)));
        pane.add(moment("_start").as("window_start"));
        pane.add(moment("_end").as("window_end"));
        int shown = terms.names().size() - (terms.having() ? 1 : 0);
        for (String name : terms.names().subList(0, shown)) {
            pane.add(col("_result").getField(name).as(name));
        }
        pane.add(col("_why").as("pane"));
        pane.add(col("_number").as("pane_number"));
        pane.add(isFinal(terms).as("is_final"));
        pane.add(col("_retraction").as("is_retraction"));
        pane.add(place(terms).as("_place"));
        Column isPane = kind().equalTo(PaneRows.PANE);
        return unpacked.select(
                kind(),
                when(isPane, struct(pane.toArray(Column[]::new))).as("_pane"),
                when(isPane, lit(null)).otherwise(event(rows, terms)).as("_event"),
                col("_late_by").as("late_by_ms"));
    }

    /** The event of a row: what was packed, without the window's bounds. */
    private static Column event(Dataset<Row> rows, WindowTerms terms) {
        if (terms.start() == null) {
            return col(ROW);
        }
        return struct(
                Arrays.stream(rows.columns())
                        .map(name -> col(ROW).getField(name).as(name))
                        .toArray(Column[]::new));
    }

    private static Column isFinal(WindowTerms terms) {
        return terms.allowed() == 0
                ? col("_why").equalTo("on-time").and(not(col("_retraction")))
                : lit(false);
    }

    private static Column place(WindowTerms terms) {
        switch (terms.kind()) {
            case "counted":
            case "sliding":
                return col("_place");
            case "everything":
                return lit("all");
            case "assigned":
                return expr("concat(" + iso("_start") + ", '/', " + iso("_end") + ")");
            default:
                return expr(iso("_start"));
        }
    }

    /** Writes a time in UTC, whatever the session's time zone is. */
    static String iso(String column) {
        return "date_format(to_utc_timestamp(timestamp_micros("
                + column
                + "), current_timezone()), \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'\")";
    }

    private static Column moment(String column) {
        return expr("timestamp_micros(" + column + ")");
    }

    private static Column kind() {
        return col("_kind");
    }

    private static Column number(Column condition) {
        return count(when(condition, lit(1)));
    }

    private static boolean has(Dataset<Row> rows, String name) {
        return List.of(rows.columns()).contains(name);
    }
}
