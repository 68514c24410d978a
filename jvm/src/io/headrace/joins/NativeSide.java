package io.headrace.joins;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.spark_partition_id;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.timestamp_micros;
import static org.apache.spark.sql.functions.unix_micros;
import static org.apache.spark.sql.functions.when;

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
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;

/**
 * One side of a join as Spark's own join takes it, under names that the other side has not.
 *
 * <p>To Spark a row whose time is the watermark is late, to us it is not. So it is given times that
 * are a microsecond later, on both sides.
 */
final class NativeSide {
    private static final Metadata MARKED =
            new MetadataBuilder().putLong(EventTimeWatermark.delayKey(), 0).build();

    private final Dataset<Row> rows;
    private final JoinTerms.Side terms;
    private final String prefix;
    private final Tallies tallies = new Tallies();
    private final JoinAdmission admission;

    NativeSide(Dataset<Row> rows, JoinTerms.Side terms, String prefix) {
        this.rows = rows;
        this.terms = terms;
        this.prefix = prefix;
        this.admission =
                new JoinAdmission(prefix, new RunningBatch(rows.sparkSession()), tallies);
        rows.sparkSession().sparkContext().register(tallies);
    }

    /** Gives the rows that may have partners; the others are counted. */
    Dataset<Row> admitted() {
        Column hasKey = lit(true);
        for (String name : terms.key()) {
            hasKey = hasKey.and(rows.col(Parcel.quoted(name)).isNotNull());
        }
        Column micros = unix_micros(rows.col(Parcel.quoted(terms.time())));
        Column admits =
                Call.of(
                        admission,
                        "admits",
                        DataTypes.BooleanType,
                        DeadLetters.isDead(),
                        hasKey,
                        coalesce(micros, lit(JoinAdmission.NO_TIME)),
                        spark_partition_id());
        List<Column> named = new ArrayList<>();
        for (StructField field : living()) {
            Column value = rows.col(Parcel.quoted(field.name()));
            if (terms.key().contains(field.name())) {
                value = opaque(value);
            }
            named.add(
                    field.name().equals(terms.time())
                            ? timestamp_micros(micros.plus(1)).as(name(field.name()), MARKED)
                            : value.as(name(field.name()), unmarked(field)));
        }
        return rows.where(admits).select(named.toArray(Column[]::new));
    }

    /** A column of the key, by its place. */
    Column key(int place) {
        return col(name(terms.key().get(place)));
    }

    /** The time that Spark goes by. */
    Column time() {
        return col(name(terms.time()));
    }

    /** The row as it came. */
    Column row() {
        List<Column> fields = new ArrayList<>();
        for (StructField field : living()) {
            Column value = col(name(field.name()));
            if (field.name().equals(terms.time())) {
                value = timestamp_micros(unix_micros(value).minus(1));
            }
            fields.add(value.as(field.name()));
        }
        return struct(fields.toArray(Column[]::new));
    }

    /** Gives the dead letters, and what was counted. */
    Dataset<Row> deadLetters() {
        return DeadLetters.of(rows, tallies);
    }

    /**
     * Hides from Spark's optimizer what a column is made of.
     *
     * <p>What it knows of one side's key in a batch it demands of the other side's, as if the rows of
     * the batch were all; but those in state may have other keys. Of a source without events it knows
     * that every key is null.
     */
    private static Column opaque(Column key) {
        return when(spark_partition_id().geq(0), key);
    }

    private String name(String column) {
        return prefix + rows.schema().fieldIndex(column);
    }

    private List<StructField> living() {
        List<StructField> found = new ArrayList<>(List.of(rows.schema().fields()));
        found.removeIf(field -> DeadLetters.CARRIED.contains(field.name()));
        return found;
    }

    private static Metadata unmarked(StructField field) {
        return new MetadataBuilder()
                .withMetadata(field.metadata())
                .remove(EventTimeWatermark.delayKey())
                .build();
    }
}
