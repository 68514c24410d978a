package io.headrace.clock;

import static org.apache.spark.sql.functions.lit;

import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A source without rows that asks for a batch at a start, where one is due.
 *
 * <p>A driver that dies between a batch and the one that Spark runs for a new watermark leaves
 * complete windows unfired, and Spark runs none for them at a start. Where a clock of ours drives the
 * watermark, the clock asks for it; where Spark does it alone, this does.
 */
public final class Waker implements TableProvider {
    private static final StructType SCHEMA = new StructType().add("none", DataTypes.BooleanType);

    /** Called by Spark. */
    public Waker() {}

    /** Where Python comes in: puts the source beside the rows that a query gives. */
    public static Dataset<Row> beside(Dataset<Row> rows) {
        Column[] nothing =
                Arrays.stream(rows.schema().fields())
                        .map(field -> lit(null).cast(field.dataType()).as(field.name()))
                        .toArray(Column[]::new);
        Dataset<Row> none =
                rows.sparkSession().readStream().format(Waker.class.getName()).load();
        return rows.union(none.select(nothing));
    }

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return SCHEMA;
    }

    @Override
    public Table getTable(
            StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new Bed();
    }

    private record Bed() implements Table, SupportsRead, Scan {
        @Override
        public String name() {
            return WakerStream.NAME;
        }

        @Override
        @Deprecated
        public StructType schema() {
            return SCHEMA;
        }

        @Override
        public StructType readSchema() {
            return SCHEMA;
        }

        @Override
        public Set<TableCapability> capabilities() {
            return Set.of(TableCapability.MICRO_BATCH_READ);
        }

        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return () -> this;
        }

        @Override
        public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
            return new WakerStream(new Journal(checkpointLocation, SparkSession.active()));
        }
    }
}
