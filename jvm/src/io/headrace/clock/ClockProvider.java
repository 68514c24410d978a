package io.headrace.clock;

import java.util.Map;
import java.util.Set;
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

/** The source of a clock's rows, as Spark finds it by its name. */
public final class ClockProvider implements TableProvider {
    static final String ID = "id";
    static final String TICK = "tick";

    private static final StructType SCHEMA =
            new StructType().add(TICK, DataTypes.TimestampType, false);

    /** Called by Spark. */
    public ClockProvider() {}

    @Override
    public StructType inferSchema(CaseInsensitiveStringMap options) {
        return SCHEMA;
    }

    @Override
    public Table getTable(
            StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new ClockTable(Clock.planned(properties.get(ID)));
    }

    private record ClockTable(Clock clock) implements Table, SupportsRead {
        @Override
        public String name() {
            return clock.toString();
        }

        @Override
        @Deprecated
        public StructType schema() {
            return SCHEMA;
        }

        @Override
        public Set<TableCapability> capabilities() {
            return Set.of(TableCapability.MICRO_BATCH_READ);
        }

        @Override
        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return () -> new ClockScan(clock);
        }
    }

    private record ClockScan(Clock clock) implements Scan {
        @Override
        public StructType readSchema() {
            return SCHEMA;
        }

        @Override
        public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
            return new ClockStream(clock, new Journal(checkpointLocation, clock.session()));
        }
    }
}
