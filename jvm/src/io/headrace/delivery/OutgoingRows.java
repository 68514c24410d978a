package io.headrace.delivery;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.monotonically_increasing_id;
import static org.apache.spark.sql.functions.unix_millis;
import static org.apache.spark.sql.functions.xxhash64;

import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** The rows of a batch on their way out: their columns, their lanes, and what Kafka gets. */
final class OutgoingRows {
    private static final int SINK = 0;
    private static final int KEY = 1;
    private static final int VALUE = 2;
    private static final int HEADERS = 3;
    private static final int MILLIS = 4;
    private static final int CHECKSUM = 5;

    static final String CHECKED = "checksum";
    static final String PLACE = "place";

    private OutgoingRows() {}

    /** The columns in the order in which the writers read them. */
    static Dataset<Row> of(Dataset<Row> batch) {
        Column[] content = {
            col("sink"), col("key"), col("value"), col("headers"), col("timestamp")
        };
        return batch.select(
                col("sink").cast("int"),
                col("key").cast("binary"),
                col("value").cast("binary"),
                col("headers"),
                unix_millis(col("timestamp")),
                xxhash64(content).as(CHECKED));
    }

    /**
     * The rows in exactly so many partitions, those of one key in one of them, in their order.
     *
     * <p>Spark promises no order behind a shuffle, hence the place of each row and the sort.
     */
    static Dataset<Row> inLanes(Dataset<Row> batch, int lanes) {
        Dataset<Row> placed =
                of(batch).withColumn(PLACE, monotonically_increasing_id());
        Dataset<Row> laned =
                lanes == 1 ? placed.repartition(1) : placed.repartition(lanes, col("key"));
        return laned.sortWithinPartitions(PLACE);
    }

    /** The outgoing rows of some sinks. */
    static Dataset<Row> to(Dataset<Row> batch, List<Integer> sinks) {
        return batch.where(col("sink").isInCollection(sinks));
    }

    /** A row as a sink other than Kafka takes it. */
    static OutgoingRow versioned(Row row, long version) {
        return new OutgoingRow(row.<byte[]>getAs(KEY), row.<byte[]>getAs(VALUE), version);
    }

    static int sink(Row row) {
        return row.getInt(SINK);
    }

    static long checksum(Row row) {
        return row.getLong(CHECKSUM);
    }

    static ProducerRecord<byte[], byte[]> toKafka(Row row, List<Sink> sinks) {
        Long millis = row.isNullAt(MILLIS) ? null : row.getLong(MILLIS);
        return new ProducerRecord<>(
                sinks.get(sink(row)).topic(),
                null,
                millis,
                row.<byte[]>getAs(KEY),
                row.<byte[]>getAs(VALUE),
                headers(row));
    }

    private static List<Header> headers(Row row) {
        if (row.isNullAt(HEADERS)) {
            return null;
        }
        List<Header> headers = new ArrayList<>();
        for (Row header : row.<Row>getList(HEADERS)) {
            headers.add(new RecordHeader(header.getString(0), header.<byte[]>getAs(1)));
        }
        return headers;
    }
}
