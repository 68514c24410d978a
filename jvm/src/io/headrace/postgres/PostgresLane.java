package io.headrace.postgres;

import io.headrace.delivery.Failpoint;
import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.OutgoingRow;
import io.headrace.delivery.Refusal;
import io.headrace.delivery.SinkLane;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * One lane: a transaction that holds the lane's row of the ledger from the claim on.
 *
 * <p>Whoever comes second waits for the row, and then reads what the first has committed.
 */
final class PostgresLane implements SinkLane {
    private static final String SYSTEM = "postgres";

    private final PostgresSink sink;
    private final int number;
    private final String name;

    private volatile Connection connection;
    private volatile boolean isEnding;
    private Vigil vigil;
    private LedgerTable ledger;
    private Loading loading;

    PostgresLane(PostgresSink sink, int number) {
        this.sink = sink;
        this.number = number;
        this.name = "headrace." + sink.name() + "." + number;
    }

    @Override
    public LedgerRecord claim() {
        Connection rested = Connections.take(name + " " + sink.address().server());
        if (rested != null) {
            try {
                return begin(rested);
            } catch (Refusal gone) {
                if (isEnding || !gone.slug().equals("sink-unreachable")) {
                    throw gone;
                }
                // The server was started anew since the last batch; a new connection will tell.
                close();
            }
        }
        try {
            return begin(Connections.open(sink.address(), name, sink.silence(), sink.longest()));
        } catch (SQLException problem) {
            throw sink.problems().named(problem);
        }
    }

    private LedgerRecord begin(Connection opened) {
        connection = opened;
        vigil = new Vigil(opened, sink.address(), name, sink.silence());
        if (isEnding) {
            // The end was told before there was a connection to end.
            interrupt();
        }
        try {
            opened.setAutoCommit(false);
            set("lock_timeout", sink.lockTimeoutMs());
            set("statement_timeout", sink.statementTimeoutMs());
            ledger = new LedgerTable(opened, sink.name());
            try {
                return ledger.lock(number);
            } catch (SQLException problem) {
                if (Problems.state(problem).equals("55P03")) {
                    throw held(problem);
                }
                throw problem;
            }
        } catch (SQLException problem) {
            throw sink.problems().named(problem);
        }
    }

    private Refusal held(SQLException problem) throws SQLException {
        connection.rollback();
        return Refusal.passing(
                problem,
                "ledger-blocked",
                "another session holds lane " + number + " of the ledger",
                "it has not let go within " + sink.lockTimeoutMs() / 1000 + " s; there is "
                        + ledger.holders() + ".",
                "stop that driver, or end its session with pg_terminate_backend; what it has not "
                        + "committed is written by this one.");
    }

    private void set(String setting, long value) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("set local " + setting + " = " + value);
        }
    }

    @Override
    public void write(OutgoingRow row) {
        try {
            if (loading == null) {
                loading = new Loading(connection, sink.longest());
            }
            loading.add(row);
        } catch (SQLException problem) {
            throw sink.problems().named(problem);
        }
    }

    @Override
    public void commit(LedgerRecord record) {
        try {
            long rows = loading == null ? 0 : loading.end();
            requireSameTable(record);
            new Merging(connection, sink.table(), sink.problems()).run(rows);
            Failpoint.reach(SYSTEM, "rows-flushed");
            ledger.write(number, record);
            Failpoint.reach(SYSTEM, "record-sent");
        } catch (SQLException problem) {
            throw sink.problems().named(problem);
        }
        Failpoint.reachDuring(SYSTEM, "commit-in-doubt");
        try {
            connection.commit();
            vigil.close();
            Connections.rest(name + " " + sink.address().server(), connection);
            connection = null;
        } catch (SQLException problem) {
            throw sink.problems().inDoubt(problem);
        }
    }

    /** The driver looks at the table now and then; here it cannot be exchanged any more. */
    private void requireSameTable(LedgerRecord record) throws SQLException {
        try (Statement lock = connection.createStatement()) {
            lock.execute("lock table " + sink.table().quoted() + " in row exclusive mode");
        }
        String told = record.terms().topics().get(sink.table().shown());
        String found = sink.table().id(connection);
        if (!found.equals(told)) {
            throw Refusal.passing(
                    null,
                    "sink-blocked",
                    sink.table().shown() + " was made anew a moment ago",
                    "its id is " + found + ", and was " + told + ".",
                    "the driver looks at it again.");
        }
    }

    @Override
    public void interrupt() {
        isEnding = true;
        Connection open = connection;
        if (open != null) {
            try {
                // A thread that waits for the server does not hear of it otherwise.
                open.abort(Runnable::run);
            } catch (SQLException problem) {
                throw new IllegalStateException(problem);
            }
        }
    }

    @Override
    public void close() {
        if (vigil != null) {
            vigil.close();
        }
        if (connection != null) {
            try {
                if (!connection.isClosed()) {
                    connection.abort(Runnable::run);
                }
            } catch (SQLException problem) {
                Connections.close(connection);
            }
            connection = null;
        }
    }
}
