package io.headrace.clock;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.timestamp_micros;
import static org.apache.spark.sql.functions.unix_micros;

import com.fasterxml.jackson.databind.JsonNode;
import io.headrace.formats.Call;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;

/** Where Python comes in: gives a source's rows a watermark that is decided here. */
public final class Clock {
    private static final String COLUMN = "_clock";
    private static final Map<String, WeakReference<Clock>> PLANNED = new ConcurrentHashMap<>();

    private final String id = UUID.randomUUID().toString();
    private final ClockSettings settings;
    private final SparkSession session;
    private final Sightings sightings;
    private final Companions companions;

    /** How to read the time of a record; null where the log's end is not looked at. */
    private TimeOf timeOf;

    private Clock(ClockSettings settings, SparkSession session) {
        this.settings = settings;
        this.session = session;
        this.sightings = new Sightings(settings.isObserved());
        this.companions = Companions.of(settings.group());
    }

    /**
     * Lets a source drive the watermark.
     *
     * @param rows the source's decoded rows, with {@code _origin}
     * @param json the strategy and what it needs; see {@link ClockSettings}
     * @return the same rows, behind a watermark
     */
    public static Dataset<Row> over(Dataset<Row> rows, String json) {
        ClockSettings settings = new ClockSettings(json);
        SparkSession session = rows.sparkSession();
        Clock clock = new Clock(settings, session);
        session.sparkContext().register(clock.sightings);
        clock.companions.join(settings.name());
        PLANNED.values().removeIf(planned -> planned.get() == null);
        PLANNED.put(clock.id, new WeakReference<>(clock));
        return clock.driving(rows);
    }

    /**
     * Decides a watermark without a query.
     *
     * @param settings as for {@code over}
     * @param state an offset, or an empty text at the beginning
     * @param shown what a batch has shown: {@code seen}, the largest times by partition; {@code
     *     late}, the microseconds that each event was late; {@code known} and {@code behind},
     *     partitions; {@code told}, whether there has been any progress; {@code now}
     * @return the next offset
     */
    public static String decide(String settings, String state, String shown) {
        ClockSettings wanted = new ClockSettings(settings);
        Strategy strategy = new Strategy(wanted);
        JsonNode json = Json.read(shown);
        Map<Integer, Long> seen = new ConcurrentHashMap<>();
        json.path("seen")
                .properties()
                .forEach(e -> seen.put(Integer.parseInt(e.getKey()), e.getValue().asLong()));
        long[] late = new long[wanted.isObserved() ? Lateness.BUCKETS : 0];
        json.path("late").forEach(micros -> late[Lateness.bucket(micros.asLong())]++);
        Outlook outlook =
                new Outlook(
                        json.path("told").asBoolean(),
                        numbers(json.path("known")),
                        numbers(json.path("behind")));
        long now = json.path("now").asLong();
        ClockState before = state.isEmpty() ? ClockState.NONE : ClockText.parse(state);
        ClockState learnt = strategy.learn(before, seen, late, outlook, now);
        return ClockText.of(strategy.decide(learnt, outlook, now), wanted.name());
    }

    private static Set<Integer> numbers(JsonNode list) {
        Set<Integer> found = new HashSet<>();
        list.forEach(number -> found.add(number.asInt()));
        return found;
    }

    /** Gives the clock that a plan's source belongs to. */
    static Clock planned(String id) {
        WeakReference<Clock> found = PLANNED.get(id);
        Clock clock = found == null ? null : found.get();
        if (clock == null) {
            throw new IllegalStateException("the clock " + id + " was planned in another process");
        }
        return clock;
    }

    /** Puts the clock's rows beside the data, marks the watermark, and keeps the data. */
    private Dataset<Row> driving(Dataset<Row> rows) {
        Dataset<Row> ticks =
                session.readStream()
                        .format(ClockProvider.class.getName())
                        .option(ClockProvider.ID, id)
                        .load();
        String time = "`" + settings.time().replace("`", "``") + "`";
        List<Column> columns = new ArrayList<>();
        for (StructField field : rows.schema().fields()) {
            boolean ticking = settings.isLagging() && field.name().equals(settings.time());
            Column value = ticking ? col(ClockProvider.TICK) : lit(null).cast(field.dataType());
            columns.add(value.as(field.name()));
        }
        columns.add(col(ClockProvider.TICK).as(COLUMN));
        Dataset<Row> both =
                rows.withColumn(COLUMN, timestamp_micros(lit(0L)))
                        .union(ticks.select(columns.toArray(Column[]::new)));
        Dataset<Row> marked =
                settings.isLagging()
                        ? both.withWatermark(settings.time(), settings.lagMicros() + " microseconds")
                        : both.withWatermark(COLUMN, "0 seconds");
        if (!settings.client().isEmpty()) {
            timeOf = TimeOf.of(rows, unix_micros(col(time)));
        }
        Column pass =
                Call.of(
                        new Gate(sightings, this),
                        "pass",
                        DataTypes.BooleanType,
                        coalesce(col("_origin.partition"), lit(Gate.NO_PARTITION)),
                        coalesce(unix_micros(col(time)), lit(Sightings.NEVER)));
        return marked.where(pass).drop(COLUMN);
    }

    ClockSettings settings() {
        return settings;
    }

    SparkSession session() {
        return session;
    }

    /** Gives what looks at the log's end; null where nothing does. */
    LogEnd logEnd() {
        return timeOf == null ? null : new LogEnd(settings.topic(), settings.client(), timeOf);
    }

    Sightings sightings() {
        return sightings;
    }

    Companions companions() {
        return companions;
    }

    @Override
    public String toString() {
        return "clock of " + settings.name();
    }
}
