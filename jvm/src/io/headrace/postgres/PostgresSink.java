package io.headrace.postgres;

import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.RowSink;
import io.headrace.delivery.SinkLane;
import io.headrace.delivery.SinkTerms;
import io.headrace.sinks.Names;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** A table of PostgreSQL as a sink: rows are added, or replace those of their key. */
public final class PostgresSink implements RowSink {
    private static final long serialVersionUID = 1L;

    /** The server ends a statement by itself; it is given so long to say so. */
    private static final Duration GRACE = Duration.ofMinutes(1);

    private final String name;
    private final Address address;
    private final Table table;
    private final long lockTimeoutMs;
    private final long statementTimeoutMs;
    private final Duration silence;

    /**
     * Reads the settings, and opens nothing.
     *
     * @param terms with {@code address}, {@code schema}, {@code table}, {@code mode}, {@code
     *     columns} and {@code key}
     */
    public PostgresSink(SinkTerms terms) {
        Map<String, String> settings = terms.settings();
        name = terms.pipeline() + "." + terms.name();
        address = new Address(settings.get("address"));
        table =
                new Table(
                        settings.get("schema"),
                        settings.get("table"),
                        new Columns(settings.get("columns")),
                        settings.get("mode").equals("append")
                                ? List.of()
                                : Names.read(settings.get("key")));
        lockTimeoutMs = Long.parseLong(settings.getOrDefault("lock_timeout_ms", "10000"));
        statementTimeoutMs =
                Long.parseLong(settings.getOrDefault("statement_timeout_ms", "600000"));
        silence =
                Duration.ofMillis(Long.parseLong(settings.getOrDefault("silence_ms", "20000")));
    }

    @Override
    public void prepare() {
        with(
                connection -> {
                    table.prepare(connection);
                    return null;
                });
    }

    @Override
    public Map<String, String> targets() {
        return with(
                connection -> {
                    String id = table.id(connection);
                    if (id == null) {
                        throw table.gone();
                    }
                    return Map.of(table.shown(), id);
                });
    }

    @Override
    public Map<Integer, LedgerRecord> ledgers() {
        return with(connection -> new LedgerTable(connection, name).all());
    }

    @Override
    public void exchange(Map<Integer, LedgerRecord> seen, Map<Integer, LedgerRecord> next) {
        with(
                connection -> {
                    connection.setAutoCommit(false);
                    new LedgerTable(connection, name).exchange(seen, next);
                    connection.commit();
                    return null;
                });
    }

    @Override
    public SinkLane lane(int number) {
        return new PostgresLane(this, number);
    }

    /** The transaction decides, not the version of a row. */
    @Override
    public boolean isVersioned() {
        return false;
    }

    String name() {
        return name;
    }

    Address address() {
        return address;
    }

    Table table() {
        return table;
    }

    Problems problems() {
        return new Problems(address);
    }

    long lockTimeoutMs() {
        return lockTimeoutMs;
    }

    long statementTimeoutMs() {
        return statementTimeoutMs;
    }

    /** How long the server may let nobody in, before a lane gives it up. */
    Duration silence() {
        return silence;
    }

    /** How long a lane waits for the answer to one statement, or to take a part of its rows. */
    Duration longest() {
        return Duration.ofMillis(statementTimeoutMs).plus(GRACE);
    }

    private <T> T with(Use<T> use) {
        // What the driver asks is answered soon, or not at all.
        Duration answer = silence.plusMillis(lockTimeoutMs);
        try (Connection connection =
                Connections.open(address, "headrace." + name, silence, answer)) {
            Connections.set(connection, "lock_timeout", Long.toString(lockTimeoutMs));
            return use.of(connection);
        } catch (SQLException problem) {
            throw problems().named(problem);
        }
    }

    /** What is done with a connection. */
    private interface Use<T> {
        T of(Connection connection) throws SQLException;
    }
}
