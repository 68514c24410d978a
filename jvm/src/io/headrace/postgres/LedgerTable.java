package io.headrace.postgres;

import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.Refusal;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** The ledger of all sinks of a database: a row for each lane, locked while it is written. */
final class LedgerTable {
    /** Not in a schema "headrace": an account of that name would make its own tables there. */
    private static final String NAME = "headrace_delivery.ledger";

    private static final String LOCK =
            "select record::text from " + NAME + " where sink = ? and lane = ? for update";

    private static final String HOLDERS =
            "select string_agg(format('process %s, %s, %s since %s', a.pid, a.application_name,"
                    + " a.state, date_trunc('second', a.state_change)), '; ')"
                    + " from pg_locks l join pg_stat_activity a on a.pid = l.pid"
                    + " where l.relation = '" + NAME + "'::regclass and l.mode = 'RowShareLock'"
                    + " and l.pid <> pg_backend_pid()";

    private final Connection connection;
    private final String sink;

    LedgerTable(Connection connection, String sink) {
        this.connection = connection;
        this.sink = sink;
    }

    /** Makes the table if it is missing. */
    static void prepare(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            try (ResultSet found =
                    statement.executeQuery("select to_regclass('" + NAME + "')")) {
                found.next();
                if (found.getString(1) != null) {
                    return;
                }
            }
            statement.execute("create schema if not exists headrace_delivery");
            statement.execute(
                    "create table if not exists " + NAME + " (sink text, lane int, record jsonb, "
                            + "written_at timestamptz, primary key (sink, lane))");
        }
    }

    /** Locks a lane's row for the rest of the transaction, and gives its record, or null. */
    LedgerRecord lock(int lane) throws SQLException {
        Row found = locked(lane);
        if (found == null) {
            try (PreparedStatement add =
                    connection.prepareStatement(
                            "insert into " + NAME + " (sink, lane) values (?, ?)"
                                    + " on conflict do nothing")) {
                bind(add, lane).executeUpdate();
            }
            found = locked(lane);
        }
        return found == null ? null : found.record();
    }

    private Row locked(int lane) throws SQLException {
        try (PreparedStatement lock = connection.prepareStatement(LOCK)) {
            try (ResultSet found = bind(lock, lane).executeQuery()) {
                return found.next() ? new Row(parsed(found.getString(1))) : null;
            }
        }
    }

    /** Writes a lane's record; the row is there, and locked. */
    void write(int lane, LedgerRecord record) throws SQLException {
        try (PreparedStatement write =
                connection.prepareStatement(
                        "update " + NAME + " set record = ?::jsonb, written_at = now()"
                                + " where sink = ? and lane = ?")) {
            write.setString(1, record == null ? null : text(record));
            write.setString(2, sink);
            write.setInt(3, lane);
            write.executeUpdate();
        }
    }

    /** The records of all lanes that have one. */
    Map<Integer, LedgerRecord> all() throws SQLException {
        Map<Integer, LedgerRecord> found = new HashMap<>();
        try (PreparedStatement ask =
                connection.prepareStatement(
                        "select lane, record::text from " + NAME
                                + " where sink = ? and record is not null")) {
            ask.setString(1, sink);
            try (ResultSet rows = ask.executeQuery()) {
                while (rows.next()) {
                    found.put(rows.getInt(1), parsed(rows.getString(2)));
                }
            }
        }
        return found;
    }

    /** Puts other records in the place of all, in this transaction, if all are as they were seen. */
    void exchange(Map<Integer, LedgerRecord> seen, Map<Integer, LedgerRecord> next)
            throws SQLException {
        int width = Math.max(width(seen), width(next));
        for (int lane = 0; lane < width; lane++) {
            LedgerRecord found = lock(lane);
            LedgerRecord expected = seen.get(lane);
            boolean isSame =
                    found == null || expected == null
                            ? found == expected
                            : Arrays.equals(found.toBytes(), expected.toBytes());
            if (!isSame) {
                throw Refusal.of(
                        "writer-fenced",
                        "another driver has written while the lanes were changed",
                        "the record of lane " + lane + " is not any more the one that was read.",
                        "find the other driver; stop it before you start this one again.");
            }
        }
        for (int lane = 0; lane < width; lane++) {
            write(lane, next.get(lane));
        }
    }

    /** Who may hold a row, as far as this account may know. */
    String holders() throws SQLException {
        try (Statement ask = connection.createStatement();
                ResultSet found = ask.executeQuery(HOLDERS)) {
            found.next();
            String told = found.getString(1);
            return told == null ? "nobody that this account can see" : told;
        }
    }

    private PreparedStatement bind(PreparedStatement statement, int lane) throws SQLException {
        statement.setString(1, sink);
        statement.setInt(2, lane);
        return statement;
    }

    private static int width(Map<Integer, LedgerRecord> lanes) {
        return lanes.keySet().stream().mapToInt(Integer::intValue).max().orElse(-1) + 1;
    }

    private static LedgerRecord parsed(String text) {
        return text == null ? null : LedgerRecord.parse(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String text(LedgerRecord record) {
        return new String(record.toBytes(), StandardCharsets.UTF_8);
    }

    /** A row that is there, with a record or without. */
    private record Row(LedgerRecord record) {}
}
