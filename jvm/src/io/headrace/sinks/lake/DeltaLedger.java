package io.headrace.sinks.lake;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.Refusal;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaHistoryManager;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.util.FileNames;
import scala.Option;

/**
 * The ledger of a sink inside of its Delta table.
 *
 * <p>Each commit with rows bears an application's transaction: the name of the sink, and a number
 * that grows with the generation and the batch. Delta refuses a number that is not above the last,
 * and a commit beside another one of the same name. The record itself is the commit's metadata. The
 * {@link Mark} holds it once more, together with the batches since that had no rows.
 */
final class DeltaLedger {
    private static final int BATCH_BITS = 40;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final DeltaTarget target;
    private final String application;

    private Snapshot seen;
    private Mark found;
    private Mark mark;

    DeltaLedger(DeltaTarget target, String application) {
        this.target = target;
        this.application = application;
    }

    /** The number of a batch, which grows over all checkpoints. */
    static long commitOf(LedgerRecord record) {
        return (long) record.terms().generation() << BATCH_BITS | record.terms().batch();
    }

    /** Reads the last record; null if there is none. */
    LedgerRecord last(SparkSession session) {
        seen = target.now(session);
        long commit = commit(seen);
        found = Mark.read(markFile(), configuration());
        mark = found;
        if (found == null || found.commit() != commit) {
            mark = commit == Mark.NONE ? null : new Mark(commit, search(commit), 0);
        }
        return mark == null ? null : mark.record();
    }

    /** What a commit says of itself, so that Delta takes it once and the record is in it. */
    Map<String, String> options(LedgerRecord record) {
        return Map.of(
                "txnAppId", application,
                "txnVersion", Long.toString(commitOf(record)),
                "userMetadata", text(record));
    }

    /** The same as settings of a session, for what takes no options. */
    Map<String, String> settings(LedgerRecord record) {
        return Map.of(
                "spark.databricks.delta.write.txnAppId", application,
                "spark.databricks.delta.write.txnVersion", Long.toString(commitOf(record)),
                "spark.databricks.delta.commitInfo.userMetadata", text(record));
    }

    /** Notes a batch without rows; nothing is committed. */
    void noteEmpty(LedgerRecord record) {
        // Not a lock, but a driver that slept since it read the ledger does not get past it.
        if (!Mark.isSameBatch(found, Mark.read(markFile(), configuration()))) {
            throw DeltaFailures.fenced("table " + target.place(), null);
        }
        write(
                mark == null
                        ? new Mark(Mark.NONE, record, 0)
                        : new Mark(mark.commit(), record, mark.since()));
    }

    /**
     * Notes a batch whose rows were committed.
     *
     * @return how many batches with rows came since the table was last optimised
     */
    int noteWritten(LedgerRecord record, SparkSession session) {
        seen = target.now(session);
        if (commit(seen) != commitOf(record)) {
            // Delta has left the rows out: another driver's commit of the sink came before.
            throw DeltaFailures.fenced("table " + target.place(), null);
        }
        write(new Mark(commitOf(record), record, (mark == null ? 0 : mark.since()) + 1));
        return mark.since();
    }

    void noteOptimised() {
        write(new Mark(mark.commit(), mark.record(), 0));
    }

    private long commit(Snapshot table) {
        Option<Object> found = table.transactions().get(application);
        return found.isEmpty() ? Mark.NONE : (Long) found.get();
    }

    /** Looks for the record of a commit in the table's log, from its end. */
    private LedgerRecord search(long commit) {
        DeltaLog log = seen.deltaLog();
        for (long version = seen.version(); version >= 0; version--) {
            Path file = FileNames.unsafeDeltaFile(log.logPath(), version);
            Option<CommitInfo> info;
            try {
                info = DeltaHistoryManager.getCommitInfoOpt(log.store(), file, configuration());
            } catch (Exception gone) {
                throw lost(commit, version, gone);
            }
            LedgerRecord record =
                    info.isEmpty() || info.get().userMetadata().isEmpty()
                            ? null
                            : read(info.get().userMetadata().get());
            if (record != null && commitOf(record) == commit) {
                return record;
            }
        }
        throw lost(commit, 0, null);
    }

    private Refusal lost(long commit, long version, Throwable cause) {
        return Refusal.of(
                "ledger-missing",
                "the history of table " + target.place() + " does not go back to the ledger's "
                        + "last record",
                "batch " + (commit & (1L << BATCH_BITS) - 1) + " was written as \"" + application
                        + "\"; its commit is before version " + (version + 1)
                        + ", and the mark of it in _headrace is gone"
                        + (cause == null ? "." : " (" + cause.getMessage() + ")."),
                "put the table's directory _headrace back; or give the output another name, which "
                        + "begins a new ledger with the checkpoint's next batch.");
    }

    /** Gives the record in a commit's metadata, if it is one of this sink. */
    private LedgerRecord read(String metadata) {
        try {
            JsonNode json = JSON.readTree(metadata);
            JsonNode record = json == null ? null : json.get("headrace");
            if (record == null || !application.equals(json.path("sink").asText())) {
                return null;
            }
            return LedgerRecord.parse(record.toString().getBytes(StandardCharsets.UTF_8));
        } catch (JsonProcessingException other) {
            // Everybody may write there what he likes.
            return null;
        }
    }

    private String text(LedgerRecord record) {
        try {
            return JSON.createObjectNode()
                    .put("sink", application)
                    .set("headrace", JSON.readTree(record.toBytes()))
                    .toString();
        } catch (java.io.IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private void write(Mark next) {
        next.write(markFile(), configuration());
        mark = next;
    }

    private Path markFile() {
        return DeltaTarget.markOf(seen, application);
    }

    private Configuration configuration() {
        return seen.deltaLog().newDeltaHadoopConf();
    }
}
