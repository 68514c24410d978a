package io.headrace.batches;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.spark_partition_id;

import io.headrace.formats.Call;
import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataTypes;

/** The dead letters that a first reading has held back, in a branch of their own. */
public final class DeadLetters {
    /** What every row carries beside the columns of its event. */
    public static final List<String> CARRIED = List.of("_origin", Arrivals.DEAD, "_read");

    /** The column that holds what a dead letter carries; null in a row that tells counts. */
    public static final String ROW = "_row";

    private DeadLetters() {}

    /**
     * Reads rows a second time, if the batch has dead letters.
     *
     * @param rows what the first reading has seen, in the stages before the one this is put into
     * @param tallies what it has counted
     * @return {@code _kind} (2 a dead letter, 3 the counts), {@code _in}, {@code _on_time}, {@code
     *     _late}, which each task tells for all, and {@link #ROW}
     */
    public static Dataset<Row> of(Dataset<Row> rows, Tallies tallies) {
        SecondReading reading = new SecondReading(tallies);
        Column again =
                Call.of(reading, "isDead", DataTypes.BooleanType, isDead(), spark_partition_id());
        Column[] carried = carried(rows).stream().map(name -> col(name)).toArray(Column[]::new);
        Dataset<Row> dead = rows.select(carried).where(again);
        Parcel parcel = new Parcel(dead.schema());
        return dead.select(parcel.packed(dead))
                .as(Encoders.BINARY())
                .mapPartitions(reading, Encoders.row(SecondReading.schema()))
                .withColumn(ROW, Call.of(parcel, "unpackIfAny", parcel.schema(), col(ROW)));
    }

    /** Names the columns among those of rows that every row carries. */
    public static List<String> carried(Dataset<Row> rows) {
        List<String> carried = new ArrayList<>(CARRIED);
        carried.retainAll(List.of(rows.columns()));
        return carried;
    }

    /** Whether a row is a dead letter. */
    public static Column isDead() {
        return col(Arrivals.DEAD).isNotNull();
    }
}
