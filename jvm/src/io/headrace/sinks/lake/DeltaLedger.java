package io.headrace.sinks.lake;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.Refusal;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
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
 * that grows with the generation and the batch. Delta leaves out a commit whose number is not above
 * the last, and refuses one beside another of the same name. The record is the commit's metadata.
 * The {@link Mark} holds it once more, with the batches since that had no rows, and the table's
 * version, so that only later commits have to be looked at.
 */
final class DeltaLedger {
    private static final int BATCH_BITS = 40;

    /** How many commits are rather read one by one than the table's state computed. */
    private static final long LONG_HISTORY = 1000;

    private static final ObjectMapper JSON = new ObjectMapper();

    private final DeltaTarget target;
    private final String application;

    private Snapshot seen;
    private Mark found;
    private Mark mark;

    /** The version that the batch at hand has become, where its commit has told it. */
    private Long committed;

    DeltaLedger(DeltaTarget target, String application) {
        this.target = target;
        this.application = application;
    }

    /** The number of a batch, which grows over all checkpoints. */
    private static long numberOf(LedgerRecord record) {
        return (long) record.terms().generation() << BATCH_BITS | record.terms().batch();
    }

    /** Reads the last record; null if there is none. */
    LedgerRecord last(SparkSession session) {
        committed = null;
        seen = target.now(session);
        found = Mark.read(markFile(), configuration());
        String table = seen.metadata().id();
        boolean isBelieved =
                found != null && found.table().equals(table) && found.version() <= seen.version();
        Mark later = search(isBelieved ? found.version() : Mark.NONE);
        mark = later != null ? later : isBelieved ? found : null;
        return mark == null ? null : mark.record();
    }

    /** What a commit says of itself, so that Delta takes it once and the record is in it. */
    Map<String, String> options(LedgerRecord record) {
        return Map.of(
                "txnAppId", application,
                "txnVersion", Long.toString(numberOf(record)),
                "userMetadata", text(record));
    }

    /** Commits rows to a table that is known by its path. */
    void commit(Dataset<Row> rows, LedgerRecord record) {
        committed = new DeltaAppend(seen, options(record)).commit(rows);
    }

    /** The same as settings of a session, for what takes no options. */
    Map<String, String> settings(LedgerRecord record) {
        return Map.of(
                "spark.databricks.delta.write.txnAppId", application,
                "spark.databricks.delta.write.txnVersion", Long.toString(numberOf(record)),
                "spark.databricks.delta.commitInfo.userMetadata", text(record));
    }

    /** Notes a batch without rows; nothing is committed. */
    void noteEmpty(LedgerRecord record) {
        requireOwnMark();
        long version = mark == null ? Mark.NONE : mark.version();
        write(new Mark(seen.metadata().id(), version, record, since()));
    }

    /** Notes a batch whose rows were committed. */
    void noteWritten(LedgerRecord record, SparkSession session) {
        long version = committed == null ? lookFor(record, session) : committed;
        requireOwnMark();
        write(new Mark(seen.metadata().id(), version, record, since() + 1));
    }

    /** Gives the version that has a record, where the commit itself has not told it. */
    private long lookFor(LedgerRecord record, SparkSession session) {
        long before = seen.version();
        seen = target.now(session);
        Mark written = search(before);
        if (written == null || numberOf(written.record()) != numberOf(record)) {
            // Delta has left the rows out: another driver's commit of the sink came before.
            throw fenced();
        }
        return written.version();
    }

    /** Not a lock, but a driver that slept since it read the ledger does not get past it. */
    private void requireOwnMark() {
        if (!Mark.isSameBatch(found, Mark.read(markFile(), configuration()))) {
            throw fenced();
        }
    }

    void noteOptimised() {
        write(new Mark(mark.table(), mark.version(), mark.record(), 0));
    }

    /** How many batches with rows came since the table was last optimised. */
    int since() {
        return mark == null ? 0 : mark.since();
    }

    private Refusal fenced() {
        return DeltaFailures.fenced("table " + target.place(), null);
    }

    /** Looks for the sink's last commit behind a version, or in all; null if there is none. */
    private Mark search(long behind) {
        boolean isLong = seen.version() - behind > LONG_HISTORY;
        if (behind == Mark.NONE && isLong && !isKnownToTable()) {
            return null;
        }
        for (long version = seen.version(); version > behind; version--) {
            Option<CommitInfo> commit = commitAt(version);
            if (commit == null) {
                // Delta removes commits that are older than the table's retention.
                if (isKnownToTable()) {
                    throw lost(version);
                }
                return null;
            }
            LedgerRecord record = recordIn(commit);
            if (record != null) {
                return new Mark(seen.metadata().id(), version, record, 0);
            }
        }
        return null;
    }

    /** Asks the table for the sink's last transaction, which it never forgets: a job of Spark. */
    private boolean isKnownToTable() {
        return seen.transactions().contains(application);
    }

    /** Reads what a commit says of itself; null if the commit is not in the log any more. */
    private Option<CommitInfo> commitAt(long version) {
        DeltaLog log = seen.deltaLog();
        Path file = FileNames.unsafeDeltaFile(log.logPath(), version);
        try {
            return DeltaHistoryManager.getCommitInfoOpt(log.store(), file, configuration());
        } catch (Exception problem) {
            // Scala throws it unannounced.
            if (Storage.cause(problem, FileNotFoundException.class) != null) {
                return null;
            }
            throw Storage.named("table " + target.place(), problem);
        }
    }

    private LedgerRecord recordIn(Option<CommitInfo> commit) {
        boolean isTold = commit.isDefined() && commit.get().userMetadata().isDefined();
        return isTold ? read(commit.get().userMetadata().get()) : null;
    }

    private Refusal lost(long version) {
        return Refusal.of(
                "ledger-missing",
                "the history of table " + target.place() + " does not go back to the ledger's "
                        + "last record",
                "the table knows that \"" + application + "\" has written to it, but its log "
                        + "begins behind version " + version
                        + ", and its directory _headrace has no mark.",
                "put the directory _headrace back; or give the output another name, which begins "
                        + "a new ledger with adopt=\"ledger\".");
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
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private void write(Mark next) {
        next.write(markFile(), configuration());
        mark = next;
        found = next;
    }

    private Path markFile() {
        return DeltaTarget.markOf(seen, application);
    }

    private Configuration configuration() {
        return seen.deltaLog().newDeltaHadoopConf();
    }
}
