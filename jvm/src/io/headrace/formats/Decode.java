package io.headrace.formats;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.unix_micros;
import static org.apache.spark.sql.functions.when;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Turns rows of the Kafka source into typed columns, and what cannot be read into dead letters. */
public final class Decode {
    static final String REASON = "_reason";
    static final String DETAIL = "_detail";
    private static final String READ = "_read";
    private static final long NO_TIME = -1L;

    private Decode() {}

    /**
     * Reads the key or the value of each row.
     *
     * @param kafkaRows the columns of Spark's Kafka source; headers are optional
     * @param eventSchemaJson the event's fields as Spark's JSON; not nullable means required
     * @param options {@code format} and, by format, {@code registry}, {@code reader_schema}; {@code
     *     what}, {@code max_bytes}, {@code tombstones}; {@code time} and {@code ahead_us}, which
     *     make an event a dead letter whose time lies further than that beyond its record's
     * @return the event's fields, {@code _origin}, and {@code _dead}, null for a good event
     */
    public static Dataset<Row> over(
            Dataset<Row> kafkaRows, String eventSchemaJson, Map<String, String> options) {
        StructType schema = (StructType) DataType.fromJson(eventSchemaJson);
        FormatOptions wanted = new FormatOptions(options);
        List<Column> columns = new ArrayList<>();
        StructField[] fields = schema.fields();
        for (StructField field : fields) {
            columns.add(inside(field.name()).as(field.name(), field.metadata()));
        }
        columns.add(origin());
        columns.add(dead(kafkaRows, inside(REASON), inside(DETAIL)));
        return read(kafkaRows, schema, wanted).select(columns.toArray(Column[]::new));
    }

    /** Adds what was read of each row, as one column. */
    static Dataset<Row> read(Dataset<Row> kafkaRows, StructType schema, FormatOptions wanted) {
        ReadFunction function = new ReadFunction(schema, wanted);
        return kafkaRows.withColumn(
                READ,
                Call.of(
                        function,
                        "read",
                        function.resultType(),
                        col(wanted.what()),
                        coalesce(unix_micros(col("timestamp")), lit(NO_TIME))));
    }

    /** Where a row of the Kafka source came from. */
    static Column origin() {
        return struct(col("topic"), col("partition"), col("offset"), col("timestamp"))
                .as("_origin");
    }

    /** The dead letter of a row that there is a reason for; null for any other. */
    static Column dead(Dataset<Row> kafkaRows, Column reason, Column detail) {
        boolean headed = List.of(kafkaRows.columns()).contains("headers");
        Column none = lit(null).cast("array<struct<key:string,value:binary>>");
        return when(
                        reason.isNotNull(),
                        struct(
                                reason.as("reason"),
                                detail.as("detail"),
                                col("key"),
                                col("value"),
                                (headed ? col("headers") : none).as("headers")))
                .as("_dead");
    }

    /** A field of what was read; by {@code getField}, which takes a dot in a name for a dot. */
    static Column inside(String name) {
        return col(READ).getField(name);
    }
}
