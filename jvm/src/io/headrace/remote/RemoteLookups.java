package io.headrace.remote;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.when;

import io.headrace.batches.DeadLetters;
import io.headrace.formats.Call;
import io.headrace.operators.Parcel;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Joins a stream with rows that are asked for in another system, while the batch runs. */
public final class RemoteLookups {
    private static final int JOINED = 0;
    private static final int DEAD = 2;
    private static final int UNTOLD = 3;
    private static final int MISSING = 4;

    private RemoteLookups() {}

    /**
     * Looks rows up.
     *
     * <p>Spark reports a metric with each batch, {@code lookup.NAME}, as for joins with a table.
     *
     * @param events the stream, with what every row carries
     * @param json the step's terms; see {@link RemoteTerms}
     * @return what a join with a table gives
     */
    public static Dataset<Row> over(Dataset<Row> events, String json) {
        RemoteTerms terms = RemoteTerms.parse(json);
        RemoteTables.open(terms).close();
        Parcel event = new Parcel(events.schema());
        Parcel row = new Parcel(terms.row());
        Column isDead = DeadLetters.isDead();
        Column key = events.col(Parcel.quoted(terms.key())).cast(DataTypes.StringType);
        StructType packed =
                new StructType()
                        .add("_event", DataTypes.BinaryType)
                        .add("_key", DataTypes.StringType);
        Dataset<Row> asked =
                events.select(
                                event.packed(events).as("_event"),
                                when(not(isDead), key).as("_key"))
                        .as(Encoders.row(packed))
                        .mapPartitions(
                                new Asking(terms, row, packed.fieldIndex("_key")),
                                Encoders.row(packed.add("_row", DataTypes.BinaryType)))
                        .select(
                                taken(event, "_event"),
                                taken(row, "_row").as("_right"));
        return observed(shaped(asked, events, terms), terms);
    }

    private static Dataset<Row> shaped(
            Dataset<Row> asked, Dataset<Row> events, RemoteTerms terms) {
        Column isDead = col("_event._dead").isNotNull();
        int without = terms.tellsMissing() ? JOINED : UNTOLD;
        List<Column> left = new ArrayList<>();
        for (String name : events.columns()) {
            if (!DeadLetters.CARRIED.contains(name)) {
                left.add(col("_event").getField(name).as(name));
            }
        }
        List<Column> shown = new ArrayList<>();
        shown.add(
                when(isDead, DEAD)
                        .when(col("_right").isNotNull(), JOINED)
                        .otherwise(terms.isApart() ? MISSING : without)
                        .as("_kind"));
        shown.add(when(not(isDead), struct(left.toArray(Column[]::new))).as("_left"));
        shown.add(col("_right"));
        shown.add(lit(null).cast(DataTypes.LongType).as("late_by_ms"));
        DeadLetters.CARRIED.forEach(name -> shown.add(col("_event").getField(name).as(name)));
        return asked.select(shown.toArray(Column[]::new));
    }

    private static Dataset<Row> observed(Dataset<Row> told, RemoteTerms terms) {
        Column matched = count(when(col("_right").isNotNull(), lit(1)));
        Column dead = number(DEAD);
        return told.observe(
                        "lookup." + terms.name(),
                        count(lit(1)).as("in"),
                        matched.as("matched"),
                        count(lit(1)).minus(matched).minus(dead).as("missing"),
                        lit(0L).as("late"),
                        dead.as("dead_letters"),
                        lit(0L).as("waiting"),
                        number(JOINED).as("results"))
                .where(col("_kind").notEqual(UNTOLD));
    }

    private static Column taken(Parcel parcel, String column) {
        return Call.of(parcel, "unpackIfAny", parcel.schema(), col(column)).as(column);
    }

    private static Column number(int kind) {
        return count(when(col("_kind").equalTo(kind), lit(1)));
    }
}
