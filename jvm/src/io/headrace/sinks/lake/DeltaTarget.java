package io.headrace.sinks.lake;

import io.delta.tables.DeltaTable;
import io.delta.tables.DeltaTableBuilder;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.DataFrameWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.util.FileNames;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** A Delta table, by its path or by the name that a catalog knows it by. */
final class DeltaTarget {
    /**
     * An append needs no state of the table, so none has to be written out for the next. Delta's 10
     * would be a second or two of every tenth batch, and a hundred those of one batch in a minute; a
     * reader finds a thousand small files at most.
     */
    private static final String APPENDS_PER_CHECKPOINT = "1000";

    private final String place;

    DeltaTarget(String place) {
        this.place = place;
    }

    /** The path or the name. */
    String place() {
        return place;
    }

    boolean isPath() {
        return place.contains("/");
    }

    boolean exists(SparkSession session) {
        return isPath()
                ? DeltaTable.isDeltaTable(session, place)
                : session.catalog().tableExists(place);
    }

    DeltaTable table(SparkSession session) {
        return isPath()
                ? DeltaTable.forPath(session, place)
                : DeltaTable.forName(session, place);
    }

    /** The table as it is now: its log is looked at. */
    Snapshot now(SparkSession session) {
        if (!isPath()) {
            return updated(table(session).deltaLog());
        }
        // Delta knows the log of a path; to ask for the table as well is to have it analysed anew.
        DeltaLog log = DeltaLog.forTable(session, place);
        Snapshot known = log.unsafeVolatileSnapshot();
        Snapshot now = isLast(known) ? known : updated(log);
        // Where there is no table, Delta says so itself.
        return now.version() < 0 ? updated(table(session).deltaLog()) : now;
    }

    /**
     * Whether nobody has committed since, or made the table anew: to look at two files of a log takes
     * no time, where to list it takes the longer the more commits it has.
     */
    private static boolean isLast(Snapshot known) {
        if (known.version() < 0) {
            return false;
        }
        DeltaLog log = known.deltaLog();
        Path last = FileNames.unsafeDeltaFile(log.logPath(), known.version());
        Path next = FileNames.unsafeDeltaFile(log.logPath(), known.version() + 1);
        try {
            FileSystem files = last.getFileSystem(log.newDeltaHadoopConf());
            long made = files.getFileStatus(last).getModificationTime();
            return made == known.logSegment().lastCommitFileModificationTimestamp()
                    && !files.exists(next);
        } catch (FileNotFoundException gone) {
            return false;
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private static Snapshot updated(DeltaLog log) {
        return log.update(false, Option.empty(), Option.empty());
    }

    /** Where a sink keeps its mark: a name that begins with a line is no data to Delta. */
    static Path markOf(Snapshot table, String application) {
        Path directory = new Path(table.deltaLog().dataPath(), "_headrace");
        return new Path(directory, application + ".json");
    }

    static List<String> partitionsOf(Snapshot table) {
        return CollectionConverters.asJava(table.metadata().partitionColumns());
    }

    void make(SparkSession session, StructType columns, List<String> partitions, boolean merges) {
        DeltaTableBuilder table = DeltaTable.createIfNotExists(session).addColumns(columns);
        table = isPath() ? table.location(place) : table.tableName(place);
        if (!partitions.isEmpty()) {
            table = table.partitionedBy(partitions.toArray(String[]::new));
        }
        if (merges) {
            // Otherwise a file is written anew as a whole for each row in it that is replaced.
            table = table.property("delta.enableDeletionVectors", "true");
        } else {
            table = table.property("delta.checkpointInterval", APPENDS_PER_CHECKPOINT);
        }
        table.execute();
    }

    /** Appends rows in one commit. */
    void append(Dataset<Row> rows, Map<String, String> options) {
        DataFrameWriter<Row> writer =
                rows.write().format("delta").mode("append").options(options);
        if (isPath()) {
            writer.save(place);
        } else {
            writer.saveAsTable(place);
        }
    }
}
