package io.headrace.sinks.lake;

import io.headrace.delivery.Refusal;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Whether an output can go on in a directory that has files already. */
final class FilesFit {
    private final String path;
    private final Manifest.Layout before;

    FilesFit(String path, Manifest.Layout before) {
        this.path = path;
        this.before = before;
    }

    /** Gives the layout of the files to come, or refuses it. */
    Manifest.Layout together(
            String sink, String format, List<String> partitions, StructType columns) {
        if (before == null) {
            return new Manifest.Layout(sink, format, partitions, columns.json());
        }
        require(
                before.sink().equals(sink),
                "it holds the files of \"" + before.sink() + "\", and this is \"" + sink + "\".");
        require(
                before.format().equals(format),
                "its files are " + before.format() + ", and the output's are " + format + ".");
        require(
                before.partitions().equals(partitions),
                "its files lie by " + before.partitions() + ", and the output's by " + partitions
                        + ".");
        StructType all = (StructType) DataType.fromJson(before.schema());
        for (StructField column : columns.fields()) {
            if (!Arrays.asList(all.fieldNames()).contains(column.name())) {
                all = all.add(column);
                continue;
            }
            DataType there = all.apply(column.name()).dataType();
            require(
                    there.equals(column.dataType()),
                    "column \"" + column.name() + "\" is " + there.sql() + " there, and "
                            + column.dataType().sql() + " here.");
        }
        return new Manifest.Layout(sink, format, partitions, all.json());
    }

    private void require(boolean fits, String otherwise) {
        if (!fits) {
            throw Refusal.of(
                    "sink-mismatch",
                    "directory " + path + " does not fit the output",
                    otherwise,
                    "write to another directory, or make the output as it was.");
        }
    }
}
