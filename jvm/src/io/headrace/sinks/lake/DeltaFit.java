package io.headrace.sinks.lake;

import io.headrace.delivery.Refusal;
import java.util.List;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Whether rows with certain columns can go into a table that is there. */
final class DeltaFit {
    private final DeltaTarget target;
    private final Snapshot table;

    DeltaFit(DeltaTarget target, Snapshot table) {
        this.target = target;
        this.table = table;
    }

    /**
     * Refuses what does not fit.
     *
     * @return whether the table lacks some of the columns, and can be given them
     */
    boolean lacksColumnsOf(StructType columns) {
        boolean isLacking = false;
        for (StructField column : columns.fields()) {
            StructField there = find(column.name());
            if (there == null) {
                isLacking = true;
                continue;
            }
            DataType kind = PackedValues.nullable(there.dataType());
            if (!kind.equals(column.dataType())) {
                throw mismatch(
                        "column \"" + column.name() + "\" is " + kind.sql() + " there, and "
                                + column.dataType().sql() + " here.",
                        "cast it in the pipeline, or write to another table.");
            }
        }
        for (StructField there : table.schema().fields()) {
            if (!there.nullable() && index(columns, there.name()) < 0) {
                throw mismatch(
                        "its column \"" + there.name() + "\" must not be null, and the output has "
                                + "no such column.",
                        "add the column to the output, or let it be null in the table.");
            }
        }
        return isLacking;
    }

    void requirePartitions(List<String> partitions) {
        List<String> there = DeltaTarget.partitionsOf(table);
        if (!there.equals(partitions)) {
            throw mismatch(
                    "it is partitioned by " + told(there) + ", and the output says "
                            + told(partitions) + ".",
                    "give partition_by as the table has it; to change it, write the table anew.");
        }
    }

    private StructField find(String name) {
        int place = index(table.schema(), name);
        return place < 0 ? null : table.schema().fields()[place];
    }

    /** Delta, as Spark, takes names that differ in case alone for the same. */
    private static int index(StructType columns, String name) {
        String[] names = columns.fieldNames();
        for (int i = 0; i < names.length; i++) {
            if (names[i].equalsIgnoreCase(name)) {
                return i;
            }
        }
        return -1;
    }

    private static String told(List<String> names) {
        return names.isEmpty() ? "nothing" : String.join(", ", names);
    }

    private Refusal mismatch(String detail, String hint) {
        return Refusal.of(
                "sink-mismatch",
                "table " + target.place() + " does not fit the output",
                detail,
                hint);
    }
}
