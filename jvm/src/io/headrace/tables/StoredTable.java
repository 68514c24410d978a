package io.headrace.tables;

import static org.apache.spark.sql.functions.col;

import io.headrace.formats.Call;
import io.headrace.operators.Parcel;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.streaming.checkpointing.CommitLog;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * The rows of a table as a checkpoint has them.
 *
 * <p>Public, as the code that Spark generates calls it.
 */
public final class StoredTable implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Gives the last batch that a checkpoint has committed, or -1. */
    public static long lastBatch(SparkSession session, String checkpoint) {
        Path commits = new Path(checkpoint, "commits");
        try {
            if (!commits.getFileSystem(session.sessionState().newHadoopConf()).exists(commits)) {
                return -1;
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        boolean isReadOnly = true;
        scala.Option<Object> last =
                new CommitLog(session, commits.toString(), isReadOnly).getLatestBatchId();
        return last.isEmpty() ? -1 : (Long) last.get();
    }

    /**
     * Gives the rows of a table.
     *
     * @param checkpoint of a query that is not running
     * @param batch a batch that it has committed
     * @param name the table's name
     * @param row the columns of its rows
     * @return one column, {@code after}
     */
    public static Dataset<Row> rows(
            SparkSession session, String checkpoint, long batch, String name, StructType row) {
        String variable = "row-" + name;
        Row operator =
                session.read()
                        .format("state-metadata")
                        .load(checkpoint)
                        .where(col("operatorProperties").contains("\"" + variable + "\""))
                        .select("operatorId")
                        .head();
        Parcel parcel = new Parcel(row);
        return session.read()
                .format("statestore")
                .option("batchId", batch)
                .option("operatorId", operator.getLong(0))
                .option("stateVarName", variable)
                .load(checkpoint)
                .select(
                        Call.of(
                                        new StoredTable(),
                                        "row",
                                        DataTypes.BinaryType,
                                        col("value.value"))
                                .as("_row"))
                .where(col("_row").isNotNull())
                .select(Call.of(parcel, "unpackIfAny", parcel.schema(), col("_row")).as("after"));
    }

    /** Gives the row among what is kept of a key; null if it is deleted. */
    public byte[] row(byte[] kept) {
        return Kept.of(kept).row();
    }
}
