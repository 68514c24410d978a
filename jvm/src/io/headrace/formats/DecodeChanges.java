package io.headrace.formats;

import static org.apache.spark.sql.functions.array;
import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.lower;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.percentile_approx;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.unix_millis;
import static org.apache.spark.sql.functions.when;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Turns rows of the Kafka source into changes of a table, whichever way the topic tells them.
 *
 * <p>Both ways give the columns {@code op}, {@code before}, {@code after}, {@code position}, {@code
 * transaction}, {@code is_snapshot}, {@code changed_at} and {@code unchanged}, the hidden {@code
 * _major} and {@code _minor} by which repeated changes are known, {@code _origin} and {@code _dead}.
 */
public final class DecodeChanges {
    private static final String CHANGE = "_change";
    private static final String KEY = "_key";
    private static final int ACCURACY = 1000;

    private DecodeChanges() {}

    /**
     * Reads the changes that a connector has captured. Tombstones, which follow each deletion for
     * the sake of compaction, are skipped; the metric {@code captured.NAME} counts them. The metric
     * {@code passage.NAME} tells of the changes that no snapshot read when they were committed and
     * when the log had them: of half of them, of nearly all, and of all but one in a hundred.
     *
     * @param kafkaRows the columns of Spark's Kafka source
     * @param rowSchemaJson the columns of the table as Spark's JSON; not nullable means required
     * @param name what the metric is called by
     */
    public static Dataset<Row> captured(
            Dataset<Row> kafkaRows, String rowSchemaJson, String name) {
        StructType row = (StructType) DataType.fromJson(rowSchemaJson);
        ChangeFunction function = new ChangeFunction(row);
        Column change =
                Call.of(
                        function,
                        "read",
                        function.resultType(),
                        col("value"),
                        col("topic"),
                        coalesce(col("partition"), lit(-1)),
                        coalesce(col("offset"), lit(-1L)));
        List<Column> columns = new ArrayList<>();
        for (StructField field : function.resultType().fields()) {
            columns.add(col(CHANGE).getField(field.name()).as(field.name()));
        }
        columns.add(Decode.origin());
        Column none = lit(null).cast(DataTypes.StringType);
        columns.add(Decode.dead(kafkaRows, none, none));
        return kafkaRows
                .observe(
                        "captured." + name,
                        count(lit(1)).as("records"),
                        count(when(col("value").isNull(), lit(1))).as("tombstones"))
                .where(col("value").isNotNull())
                .withColumn(CHANGE, change)
                .select(columns.toArray(Column[]::new))
                .observe(
                        "passage." + name,
                        count(when(not(col("is_snapshot")), lit(1))).as("changes"),
                        latest(col("changed_at")).as("committed_ms"),
                        latest(col("_origin").getField("timestamp")).as("logged_ms"));
    }

    /** The moments that a half, 95 and 99 in a hundred of the changes do not lie before. */
    private static Column latest(Column time) {
        Column counted = when(not(col("is_snapshot")), unix_millis(time));
        Column shares = array(lit(0.5), lit(0.05), lit(0.01));
        return percentile_approx(counted, shares, lit(ACCURACY));
    }

    /**
     * Reads a topic whose records are rows; one without a value takes away the row of its key.
     *
     * @param kafkaRows the columns of Spark's Kafka source
     * @param rowSchemaJson the rows' fields, as Spark's JSON
     * @param options as for {@link Decode}; {@code key} is the field that a record's key tells
     */
    public static Dataset<Row> upserts(
            Dataset<Row> kafkaRows, String rowSchemaJson, Map<String, String> options) {
        StructType row = (StructType) DataType.fromJson(rowSchemaJson);
        StructField key = row.apply(options.get("key"));
        Column isGone = col("value").isNull();
        Column isNameless = isGone.and(col(KEY).isNull());
        Column reason =
                when(isNameless, lit(Reason.VALUE_MISSING.slug()))
                        .otherwise(Decode.inside(Decode.REASON));
        Column detail =
                when(isNameless, lit("there is no value, and no key that names a row"))
                        .otherwise(Decode.inside(Decode.DETAIL));
        Column isAlive = reason.isNull();
        StructType type = row.asNullable();
        return Decode.read(kafkaRows, row, new FormatOptions(options))
                .withColumn(KEY, when(isGone, parsed(col("key"), key)))
                .select(
                        when(isAlive, when(isGone, lit("delete")).otherwise(lit("upsert")))
                                .as("op"),
                        when(isAlive.and(isGone), named(key, type)).as("before"),
                        when(isAlive.and(isGone.equalTo(false)), whole(type)).as("after"),
                        col("offset").as("position"),
                        lit(null).cast(DataTypes.StringType).as("transaction"),
                        lit(false).as("is_snapshot"),
                        col("timestamp").as("changed_at"),
                        array().cast("array<string>").as("unchanged"),
                        lit(null).cast(DataTypes.LongType).as(ChangeReader.MAJOR),
                        lit(null).cast(DataTypes.LongType).as(ChangeReader.MINOR),
                        Decode.origin(),
                        Decode.dead(kafkaRows, reason, detail));
    }

    /** A record's key as the value of its field: as outputs write it, a text; or bytes. */
    private static Column parsed(Column key, StructField field) {
        if (field.dataType().sameType(DataTypes.BinaryType)) {
            return key;
        }
        Column text = key.cast(DataTypes.StringType);
        boolean isUuid = Types.meaning(field.metadata()).equals("uuid");
        return (isUuid ? lower(text) : text).try_cast(field.dataType());
    }

    private static Column named(StructField key, StructType type) {
        List<Column> fields = new ArrayList<>();
        for (StructField field : type.fields()) {
            boolean isKey = field.name().equals(key.name());
            Column value = isKey ? col(KEY) : lit(null).cast(field.dataType());
            fields.add(value.as(field.name()));
        }
        return struct(fields.toArray(Column[]::new));
    }

    private static Column whole(StructType type) {
        List<Column> fields = new ArrayList<>();
        for (StructField field : type.fields()) {
            fields.add(Decode.inside(field.name()).as(field.name()));
        }
        return struct(fields.toArray(Column[]::new));
    }
}
