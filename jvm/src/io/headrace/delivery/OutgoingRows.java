package io.headrace.delivery;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.monotonically_increasing_id;
import static org.apache.spark.sql.functions.unix_millis;
import static org.apache.spark.sql.functions.xxhash64;

import io.headrace.delivery.OutgoingBatch.Counted;
import io.headrace.formats.ScalaLists;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.XxHash64Function;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** The rows of a batch on their way out: their columns, their lanes, and what Kafka gets. */
final class OutgoingRows {
    static final String SINK = "sink";
    static final String KEY = "key";
    static final String VALUE = "value";
    static final String CHECKSUM = "checksum";
    static final String PLACE = "place";

    private static final StructType HEADER =
            new StructType().add(KEY, DataTypes.StringType).add(VALUE, DataTypes.BinaryType);

    /** What Spark's function begins with. */
    private static final long SEED = 42;

    private static final int SINK_AT = 0;
    private static final int KEY_AT = 1;
    private static final int VALUE_AT = 2;
    private static final int HEADERS_AT = 3;
    private static final int MILLIS_AT = 4;
    private static final int CHECKSUM_AT = 5;
    private static final int PLACE_AT = 6;

    /** What a query gives, in this order: a cast and a checksum apart what writers read. */
    static final StructType GIVEN =
            new StructType()
                    .add(SINK, DataTypes.IntegerType)
                    .add(KEY, DataTypes.BinaryType)
                    .add(VALUE, DataTypes.BinaryType)
                    .add("headers", new ArrayType(HEADER, true))
                    .add("timestamp", DataTypes.TimestampType);

    private OutgoingRows() {}

    /** The columns in the order in which the writers read them, and the place of each row. */
    static Dataset<Row> of(Dataset<Row> batch) {
        Column[] content = {
            col(SINK), col(KEY), col(VALUE), col("headers"), col("timestamp")
        };
        return batch.select(
                col(SINK).cast("int"),
                col(KEY).cast("binary"),
                col(VALUE).cast("binary"),
                col("headers"),
                unix_millis(col("timestamp")),
                xxhash64(content).as(CHECKSUM),
                monotonically_increasing_id().as(PLACE));
    }

    /**
     * The rows in exactly so many partitions, those of one key in one of them, in their order.
     *
     * <p>Spark promises no order behind a shuffle, hence the sort by place.
     */
    static Dataset<Row> inLanes(Dataset<Row> rows, int lanes) {
        Dataset<Row> laned =
                lanes == 1 ? rows.repartition(1) : rows.repartition(lanes, col(KEY));
        return laned.sortWithinPartitions(PLACE);
    }

    /** A row of Spark's own kind as tasks take it. */
    static Row row(InternalRow row) {
        return RowFactory.create(
                sink(row),
                row.isNullAt(KEY_AT) ? null : row.getBinary(KEY_AT),
                row.isNullAt(VALUE_AT) ? null : row.getBinary(VALUE_AT),
                row.isNullAt(HEADERS_AT) ? null : headers(row.getArray(HEADERS_AT)),
                row.isNullAt(MILLIS_AT) ? null : row.getLong(MILLIS_AT),
                row.getLong(CHECKSUM_AT),
                row.getLong(PLACE_AT));
    }

    /** A row that a query has given, as {@link #of} and {@link #row} would make it. */
    static Row row(InternalRow given, long place) {
        long checksum = SEED;
        for (int column = 0; column < GIVEN.size(); column++) {
            DataType type = GIVEN.fields()[column].dataType();
            checksum = XxHash64Function.hash(given.get(column, type), type, checksum);
        }
        boolean isTimed = !given.isNullAt(MILLIS_AT);
        return RowFactory.create(
                sink(given),
                given.isNullAt(KEY_AT) ? null : given.getBinary(KEY_AT),
                given.isNullAt(VALUE_AT) ? null : given.getBinary(VALUE_AT),
                given.isNullAt(HEADERS_AT) ? null : headers(given.getArray(HEADERS_AT)),
                isTimed ? Math.floorDiv(given.getLong(MILLIS_AT), 1000L) : null,
                checksum,
                place);
    }

    private static Seq<Row> headers(ArrayData headers) {
        List<Row> found = new ArrayList<>();
        for (int i = 0; i < headers.numElements(); i++) {
            InternalRow header = headers.getStruct(i, 2);
            byte[] value = header.isNullAt(1) ? null : header.getBinary(1);
            found.add(RowFactory.create(header.getUTF8String(0).toString(), value));
        }
        return ScalaLists.seq(found);
    }

    static int sink(InternalRow row) {
        return row.getInt(SINK_AT);
    }

    /** What a row adds to the count of its sink. */
    static Counted counted(InternalRow row) {
        long bytes = row.isNullAt(VALUE_AT) ? 0 : row.getBinary(VALUE_AT).length;
        return new Counted(1, row.getLong(CHECKSUM_AT), bytes);
    }

    /** A row as a sink other than Kafka takes it. */
    static OutgoingRow versioned(Row row, long version) {
        return new OutgoingRow(row.<byte[]>getAs(KEY_AT), row.<byte[]>getAs(VALUE_AT), version);
    }

    static int sink(Row row) {
        return row.getInt(SINK_AT);
    }

    static long checksum(Row row) {
        return row.getLong(CHECKSUM_AT);
    }

    static ProducerRecord<byte[], byte[]> toKafka(Row row, List<Sink> sinks) {
        Long millis = row.isNullAt(MILLIS_AT) ? null : row.getLong(MILLIS_AT);
        return new ProducerRecord<>(
                sinks.get(sink(row)).topic(),
                null,
                millis,
                row.<byte[]>getAs(KEY_AT),
                row.<byte[]>getAs(VALUE_AT),
                headers(row));
    }

    private static List<Header> headers(Row row) {
        if (row.isNullAt(HEADERS_AT)) {
            return null;
        }
        List<Header> headers = new ArrayList<>();
        for (Row header : row.<Row>getList(HEADERS_AT)) {
            headers.add(new RecordHeader(header.getString(0), header.<byte[]>getAs(1)));
        }
        return headers;
    }
}
