package io.headrace.postgres;

import io.headrace.delivery.Refusal;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;

/** Merges the rows that were copied into the table, or finds the one that it does not take. */
final class Merging {
    private static final String ROWS = "pg_temp." + Loading.TABLE;

    private final Connection connection;
    private final Table table;
    private final Problems problems;

    private List<String> statements;

    Merging(Connection connection, Table table, Problems problems) {
        this.connection = connection;
        this.table = table;
        this.problems = problems;
    }

    /**
     * Merges all rows, those of a key in their order.
     *
     * @param rows how many there are
     * @throws Refusal that names the key of a row that is refused
     */
    void run(long rows) throws SQLException {
        if (rows == 0) {
            return;
        }
        statements = planned(examined());
        Savepoint before = connection.setSavepoint();
        try {
            merge(0, rows);
            connection.releaseSavepoint(before);
        } catch (SQLException problem) {
            if (!Problems.isOfRow(problem)) {
                throw problem;
            }
            connection.rollback(before);
            throw refused(problem, rows);
        }
    }

    private void merge(long from, long to) throws SQLException {
        for (String statement : statements) {
            try (PreparedStatement merge = connection.prepareStatement(statement)) {
                merge.setLong(1, from);
                merge.setLong(2, to);
                merge.executeUpdate();
            }
        }
    }

    /** What is done with rows from one ordinal to another. */
    private List<String> planned(boolean hasDeletes) throws SQLException {
        String read = " h cross join lateral json_populate_record(null::" + table.quoted()
                + ", h.doc) r";
        String into = "insert into " + table.quoted() + " (" + table.columns().names("")
                + ") select " + table.columns().values() + " from ";
        if (table.keys().isEmpty()) {
            return List.of(
                    into + ROWS + read + " where h.ordinal >= ? and h.ordinal < ?"
                            + " order by h.ordinal");
        }
        String last = "(select distinct on (key) key, doc from " + ROWS
                + " where ordinal >= ? and ordinal < ? order by key, ordinal desc)";
        String replacements = table.columns().replacements(table.keys());
        String upsert = into + "(select * from " + last + " l where l.doc is not null"
                + " order by l.key)" + read + " on conflict (" + Columns.list(table.keys()) + ") do "
                + (replacements.isEmpty() ? "nothing" : "update set " + replacements);
        if (!hasDeletes) {
            return List.of(upsert);
        }
        List<String> isSame = new ArrayList<>();
        for (String key : table.keys()) {
            isSame.add("t." + Columns.quoted(key) + " = " + given(key));
        }
        String delete = "delete from " + table.quoted() + " t using " + last + " h"
                + " where h.doc is null and " + String.join(" and ", isSame);
        return List.of(delete, upsert);
    }

    /** A part of a deleted key: of several, all are a document. */
    private String given(String key) throws SQLException {
        boolean isBinary = table.columns().isBinary(key);
        String text = "convert_from(h.key, 'UTF8')";
        if (table.keys().size() > 1) {
            text = "(" + text + "::json->>" + Columns.literal(key) + ")";
        }
        if (isBinary) {
            return table.keys().size() > 1 ? "decode(" + text + ", 'base64')" : "h.key";
        }
        // A key has its text in the rows, whatever its type is in the table.
        return text + "::" + table.typeOf(key, connection);
    }

    /** Refuses rows that no statement could give a place; tells whether there are deletes. */
    private boolean examined() throws SQLException {
        String fault = table.keys().isEmpty() ? "doc is null" : "key is null";
        try (PreparedStatement ask =
                        connection.prepareStatement(
                                "select bool_or(doc is null), bool_or(" + fault + "),"
                                        + " min(ordinal) filter (where " + fault + ") from "
                                        + ROWS);
                ResultSet found = ask.executeQuery()) {
            found.next();
            if (!found.getBoolean(2)) {
                return found.getBoolean(1);
            }
            throw table.keys().isEmpty()
                    ? unfit(
                            "a delete, of key " + shown(keyOf(found.getLong(3))),
                            "rows are added to " + table.shown() + ", and none is removed.")
                    : unfit(
                            "one without a key",
                            "rows of " + table.shown() + " replace each other by "
                                    + table.shownKeys() + ".");
        }
    }

    private static Refusal unfit(String which, String detail) {
        return Refusal.of(
                "row-refused",
                "a row cannot be written: " + which,
                detail,
                "nothing of the batch is in the table; change the step that makes the row, or the "
                        + "sink's mode.");
    }

    /** Halves the rows until the one is left that is refused by itself. */
    private Refusal refused(SQLException first, long rows) throws SQLException {
        long from = 0;
        long to = rows;
        SQLException problem = first;
        while (to - from > 1) {
            long middle = (from + to) / 2;
            SQLException left = problemOf(from, middle);
            SQLException right = left == null ? problemOf(middle, to) : null;
            if (left == null && right == null) {
                // Only together are they too much, as two values of a unique column are.
                return problems.row("one of " + (to - from) + " that do not go together", problem);
            }
            problem = left == null ? right : left;
            from = left == null ? middle : from;
            to = left == null ? to : middle;
        }
        return problems.row("the one of key " + shown(keyOf(from)), problem);
    }

    private SQLException problemOf(long from, long to) throws SQLException {
        Savepoint before = connection.setSavepoint();
        try {
            merge(from, to);
            return null;
        } catch (SQLException problem) {
            if (!Problems.isOfRow(problem)) {
                throw problem;
            }
            return problem;
        } finally {
            connection.rollback(before);
        }
    }

    private byte[] keyOf(long ordinal) throws SQLException {
        try (PreparedStatement ask =
                connection.prepareStatement("select key from " + ROWS + " where ordinal = ?")) {
            ask.setLong(1, ordinal);
            try (ResultSet found = ask.executeQuery()) {
                return found.next() ? found.getBytes(1) : null;
            }
        }
    }

    private static String shown(byte[] key) {
        return key == null ? "null" : "\"" + new String(key, StandardCharsets.UTF_8) + "\"";
    }
}
