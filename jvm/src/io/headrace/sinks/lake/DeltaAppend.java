package io.headrace.sinks.lake;

import io.headrace.formats.ScalaLists;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.DeltaOptions;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.commands.WriteIntoDelta;
import org.apache.spark.sql.internal.SQLConf$;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * A commit that appends rows to a table that is known by its path, and begins where the ledger was
 * read.
 *
 * <p>Spark's writer would ask the table for the application's last transaction, and for that Delta
 * computes the whole state of the table: three jobs for each batch, which take longer than to write
 * the rows. The ledger has found that transaction by itself. If another driver commits behind it,
 * Delta finds the same name in both commits, and refuses this one.
 *
 * @param seen the table when the ledger was read
 * @param options what the commit says of itself: application, number and record
 */
record DeltaAppend(Snapshot seen, Map<String, String> options) {
    /**
     * Commits the rows, under the settings of the session that is the thread's.
     *
     * @return the version of the table that has them
     */
    long commit(Dataset<Row> rows) {
        DeltaOptions said = new DeltaOptions(ScalaLists.map(options), SQLConf$.MODULE$.get());
        return seen.deltaLog()
                .<Long>withNewTransaction(
                        Option.empty(),
                        Option.apply(seen),
                        transaction -> {
                            transaction.readTxn().addOne(said.txnAppId().get());
                            return transaction.commit(
                                    actions(transaction, said, rows), operation(said));
                        });
    }

    private Seq<Action> actions(
            OptimisticTransaction transaction, DeltaOptions said, Dataset<Row> rows) {
        WriteIntoDelta write =
                new WriteIntoDelta(
                        seen.deltaLog(),
                        SaveMode.Append,
                        said,
                        none(),
                        ScalaLists.map(Map.of()),
                        rows,
                        Option.empty(),
                        Option.empty(),
                        false);
        return write.write(transaction, rows.sparkSession(), Option.empty(), false);
    }

    private static DeltaOperations.Operation operation(DeltaOptions said) {
        return new DeltaOperations.Write(
                SaveMode.Append,
                Option.apply(none()),
                Option.empty(),
                said.userMetadata(),
                Option.empty(),
                Option.empty(),
                Option.empty(),
                Option.empty(),
                Option.empty());
    }

    private static Seq<String> none() {
        return ScalaLists.seq(List.of());
    }
}
