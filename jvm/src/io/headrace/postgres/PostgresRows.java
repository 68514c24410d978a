package io.headrace.postgres;

import io.headrace.delivery.Refusal;
import io.headrace.remote.RemoteTable;
import io.headrace.remote.RemoteTerms;
import io.headrace.sinks.Away;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructField;

/** The rows of a table in PostgreSQL: those of many keys with one query. */
public final class PostgresRows implements RemoteTable {
    private final RemoteTerms terms;
    private final Address address;
    private final String table;
    private final String resting;
    private Connection connection;
    private String query;

    public PostgresRows(RemoteTerms terms) {
        this.terms = terms;
        this.address = new Address(terms.settings().get("address"));
        this.table =
                Columns.quoted(terms.settings().get("schema"))
                        + "."
                        + Columns.quoted(terms.settings().get("table"));
        this.resting =
                "asking." + terms.run() + "." + terms.name() + "." + Thread.currentThread().getId();
    }

    @Override
    public Map<String, byte[]> ask(List<String> keys) {
        try {
            return found(keys);
        } catch (SQLException problem) {
            drop();
            throw named(problem);
        }
    }

    @Override
    public void close() {
        if (connection != null) {
            Connections.rest(resting, connection);
            connection = null;
        }
    }

    private Map<String, byte[]> found(List<String> keys) throws SQLException {
        connect();
        Map<String, byte[]> found = new HashMap<>();
        try (PreparedStatement ask = connection.prepareStatement(query)) {
            ask.setArray(1, connection.createArrayOf("text", keys.toArray()));
            try (ResultSet rows = ask.executeQuery()) {
                while (rows.next()) {
                    String key = rows.getString(1);
                    byte[] row = rows.getString(2).getBytes(StandardCharsets.UTF_8);
                    if (found.put(key, row) != null) {
                        throw twice(key);
                    }
                }
            }
        }
        return found;
    }

    private void connect() throws SQLException {
        if (connection == null) {
            connection = Connections.take(resting);
        }
        Duration timeout = Duration.ofMillis(terms.timeoutMs());
        if (connection == null || connection.isClosed()) {
            connection = Connections.open(address, "headrace." + terms.name(), timeout, timeout);
        }
        connection.setAutoCommit(true);
        connection.setNetworkTimeout(Runnable::run, (int) timeout.toMillis());
        if (query == null) {
            query = query();
        }
    }

    /** The key is compared in its own type, so that its index serves; rows come as JSON. */
    private String query() throws SQLException {
        List<String> fields = new ArrayList<>();
        for (StructField field : terms.row().fields()) {
            String column = "t." + Columns.quoted(field.name());
            boolean isBinary = field.dataType().typeName().equals("binary");
            fields.add(Columns.literal(field.name()));
            fields.add(
                    isBinary ? "translate(encode(" + column + ", 'base64'), E'\\n', '')" : column);
        }
        String key = "t." + Columns.quoted(terms.tableKey());
        return "select " + key + "::text, json_build_object(" + String.join(", ", fields)
                + ")::text from " + table + " t where " + key
                + " = any(cast(? as " + keyType() + "[]))";
    }

    private String keyType() throws SQLException {
        try (PreparedStatement ask =
                connection.prepareStatement(
                        "select format_type(atttypid, -1) from pg_attribute where attrelid ="
                                + " to_regclass(?) and attname = ? and not attisdropped")) {
            ask.setString(1, table);
            ask.setString(2, terms.tableKey());
            try (ResultSet found = ask.executeQuery()) {
                if (!found.next()) {
                    throw Refusal.of(
                            "remote-refused",
                            address.shown() + " has no table " + table + " with a column \""
                                    + terms.tableKey() + "\"",
                            "join \"" + terms.name() + "\" asks for its rows.",
                            "make the table, or name the one that is there.");
                }
                return found.getString(1);
            }
        }
    }

    private RuntimeException named(SQLException problem) {
        String state = Problems.state(problem);
        if (Problems.isAway(problem) || state.equals("57014")) {
            return new Away(Problems.told(problem), problem);
        }
        return Refusal.of(
                "remote-refused",
                address.shown() + " does not answer what join \"" + terms.name() + "\" asks",
                Problems.told(problem),
                "declare the class as the table is, or let the account read it; then start the "
                        + "pipeline again.");
    }

    private Refusal twice(String key) {
        return Refusal.of(
                "remote-refused",
                "table " + table + " has several rows of one key",
                "\"" + terms.tableKey() + "\" is " + key + " in more than one.",
                "join by a column that is unique.");
    }

    /** A connection that failed may have an answer under way. */
    private void drop() {
        if (connection != null) {
            Connections.close(connection);
            connection = null;
        }
    }
}
