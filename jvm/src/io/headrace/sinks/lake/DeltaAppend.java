package io.headrace.sinks.lake;

import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.DeltaOptions;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.commands.WriteIntoDelta;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

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
 * @param application the name that the sink's commits bear
 * @param options what the commit says of itself, the application among it
 */
record DeltaAppend(Snapshot seen, String application, Map<String, String> options) {
    private static final String METADATA = "userMetadata";

    void commit(Dataset<Row> rows) {
        SparkSession session = rows.sparkSession();
        // Delta takes its settings from the session of the thread, as Spark's writer sets it.
        Option<SparkSession> before = SparkSession.getActiveSession();
        SparkSession.setActiveSession(session);
        try {
            write(rows, session);
        } finally {
            if (before.isDefined()) {
                SparkSession.setActiveSession(before.get());
            } else {
                SparkSession.clearActiveSession();
            }
        }
    }

    private void write(Dataset<Row> rows, SparkSession session) {
        DeltaLog log = seen.deltaLog();
        log.withNewTransaction(
                Option.empty(),
                Option.apply(seen),
                transaction -> {
                    transaction.readTxn().addOne(application);
                    Seq<Action> actions = actions(log, transaction, rows, session);
                    return transaction.commit(actions, operation());
                });
    }

    private Seq<Action> actions(
            DeltaLog log, OptimisticTransaction transaction, Dataset<Row> rows,
            SparkSession session) {
        DeltaOptions read =
                new DeltaOptions(
                        scala.collection.immutable.Map.from(CollectionConverters.asScala(options)),
                        ((org.apache.spark.sql.classic.SparkSession) session)
                                .sessionState()
                                .conf());
        WriteIntoDelta write =
                new WriteIntoDelta(
                        log,
                        SaveMode.Append,
                        read,
                        none(),
                        scala.collection.immutable.Map.from(
                                CollectionConverters.asScala(Map.<String, String>of())),
                        rows,
                        Option.empty(),
                        Option.empty(),
                        false);
        return write.write(transaction, session, Option.empty(), false);
    }

    private DeltaOperations.Operation operation() {
        return new DeltaOperations.Write(
                SaveMode.Append,
                Option.apply(none()),
                Option.empty(),
                Option.apply(options.get(METADATA)),
                Option.empty(),
                Option.empty(),
                Option.empty(),
                Option.empty(),
                Option.empty());
    }

    private static Seq<String> none() {
        return CollectionConverters.asScala(List.<String>of()).toSeq();
    }
}
