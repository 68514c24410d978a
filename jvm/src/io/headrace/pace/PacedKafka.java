package io.headrace.pace;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaMicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Spark's source of Kafka for streams, with the same options and offsets, which keeps a {@link
 * Pace}. A checkpoint goes on with either.
 */
public final class PacedKafka implements TableProvider {
    /** The option of its own: the most milliseconds from one batch to the next. */
    private static final String MOST = "paceMs";

    private final KafkaSourceProvider kafka = new KafkaSourceProvider();

    /** Called by Spark. */
    public PacedKafka() {}

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return kafka.inferSchema(options);
    }

    @Override
    public Table getTable(
            StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new PacedTable(kafka.getTable(schema, partitioning, properties));
    }

    private record PacedTable(Table kafka) implements Table, SupportsRead {
        @Override
        public String name() {
            return kafka.name();
        }

        @Override
        @Deprecated
        public StructType schema() {
            return kafka.schema();
        }

        @Override
        public Set<TableCapability> capabilities() {
            return Set.of(TableCapability.MICRO_BATCH_READ);
        }

        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            Scan scan = ((SupportsRead) kafka).newScanBuilder(options).build();
            long mostMs = options.getLong(MOST, 0);
            return () -> new PacedScan(scan, mostMs);
        }
    }

    private record PacedScan(Scan kafka, long mostMs) implements Scan {
        @Override
        public StructType readSchema() {
            return kafka.readSchema();
        }

        @Override
        public String description() {
            return kafka.description();
        }

        @Override
        public CustomMetric[] supportedCustomMetrics() {
            return kafka.supportedCustomMetrics();
        }

        @Override
        public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
            var stream = (KafkaMicroBatchStream) kafka.toMicroBatchStream(checkpointLocation);
            return new PacedStream(stream, SparkSession.active().sparkContext(), mostMs);
        }
    }
}
