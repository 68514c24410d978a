package io.headrace.connect;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * A record's place in the WAL, as the connector will find it again after a restart.
 *
 * @param record the record that carries it
 */
record Offset(SourceRecord record) {
    private static final String LSN = "lsn";
    private static final String COMMIT_LSN = "lsn_commit";
    private static final String KIND = "messageType";
    private static final String TRANSACTION = "transaction_";
    private static final String TRANSACTIONS = "io.debezium.connector.common.TransactionMetadata";

    /** Whether nothing that belongs to the record can follow it. */
    boolean isComplete() {
        return switch (kind()) {
            // Of a snapshot: it is read again as a whole.
            case "" -> true;
            // A heartbeat may come between a commit and the record that tells of it.
            case "COMMIT" -> !isInTransaction() || isEndOfTransaction();
            case "MESSAGE" -> isBetweenTransactions();
            default -> false;
        };
    }

    /** Whether the record is complete, given the one that follows it. */
    boolean isCompleteBefore(Offset next) {
        boolean moves = !Objects.equals(value(LSN), next.value(LSN));
        return switch (kind()) {
            // After a restart the beginning of a transaction is told again, before its rows
            // that the log has: a position there would be a step back.
            case "BEGIN" -> false;
            case "COMMIT" -> isComplete() || moves || !next.kind().equals("COMMIT");
            default -> isComplete() || moves;
        };
    }

    /** Whether a record tells of the beginning or the end of a transaction, and of no row. */
    static boolean isOfTransaction(SourceRecord record) {
        return record.valueSchema() != null
                && record.valueSchema().name() != null
                && record.valueSchema().name().startsWith(TRANSACTIONS);
    }

    /**
     * Gives records whose last one says that the next transaction is to be told from its beginning,
     * if the last one ended.
     *
     * <p>A commit's LSN is that of the next record in the WAL, which may be a row of a transaction
     * that had begun before. The connector would take that row for the commit, and pass over the
     * transaction up to there. It does not after a message that is outside of transactions, which
     * stands between them like a commit does.
     */
    static List<SourceRecord> atEnd(List<SourceRecord> records) {
        int last = records.size() - 1;
        if (last >= 0 && new Offset(records.get(last)).isCommit()) {
            records.set(last, new Offset(records.get(last)).betweenTransactions());
        }
        return records;
    }

    private SourceRecord betweenTransactions() {
        Map<String, Object> offset = new HashMap<>(record.sourceOffset());
        offset.put(KIND, "MESSAGE");
        offset.keySet().removeIf(name -> name.startsWith(TRANSACTION));
        return new SourceRecord(
                record.sourcePartition(),
                offset,
                record.topic(),
                record.kafkaPartition(),
                record.keySchema(),
                record.key(),
                record.valueSchema(),
                record.value(),
                record.timestamp(),
                record.headers());
    }

    private boolean isCommit() {
        return kind().equals("COMMIT") && isBetweenTransactions();
    }

    private boolean isBetweenTransactions() {
        return value(LSN) != null && Objects.equals(value(LSN), value(COMMIT_LSN));
    }

    private boolean isInTransaction() {
        return value(TRANSACTION + "id") != null;
    }

    private boolean isEndOfTransaction() {
        return isOfTransaction(record)
                && record.value() instanceof Struct told
                && "END".equals(told.getString("status"));
    }

    private String kind() {
        return Objects.toString(value(KIND), "");
    }

    private Object value(String name) {
        return record.sourceOffset() == null ? null : record.sourceOffset().get(name);
    }
}
