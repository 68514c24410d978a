package io.headrace.sinks.lake;

import io.headrace.sinks.Names;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Reads a sink's directory by its manifests: each batch once, and nothing that was left over. */
public final class FilesReader {
    private FilesReader() {}

    /** Gives the rows of all batches; null if no sink has written there. */
    public static Dataset<Row> read(SparkSession session, String path) throws IOException {
        Manifests manifests =
                new Manifests(path, session.sparkContext().hadoopConfiguration());
        List<String> files = new ArrayList<>();
        Manifest.Layout layout = null;
        for (long number : manifests.numbers()) {
            Manifest manifest = manifests.read(number);
            layout = manifest.layout();
            for (String file : manifest.files()) {
                files.add(new Path(manifests.root(), file).toString());
            }
        }
        if (layout == null) {
            return null;
        }
        StructType schema = (StructType) DataType.fromJson(layout.schema());
        if (files.isEmpty()) {
            return session.createDataFrame(List.of(), schema);
        }
        return session.read()
                .schema(schema)
                .format(layout.format())
                .options(FileFormats.options(layout.format()))
                .option("basePath", path)
                // The names of directories are values of columns, and may hold a star.
                .option("__globPaths__", "false")
                .load(files.toArray(String[]::new))
                .select(Names.columns(List.of(schema.fieldNames())));
    }
}
