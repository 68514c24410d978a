package io.headrace.postgres;

import io.headrace.delivery.Refusal;
import java.io.Serializable;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructField;

/**
 * The table that an output writes to.
 *
 * @param schema its schema
 * @param name its name, with the capitals that it has
 * @param columns those of the output
 * @param keys the columns by which rows replace each other; none where they are added
 */
record Table(String schema, String name, Columns columns, List<String> keys)
        implements Serializable {
    /** Shared by all that make tables, so that no two make one at once. */
    private static final long MAKING = 0x6865616472616365L;

    private static final String COLUMNS =
            "select a.attname, a.attnotnull and a.atthasdef = false and a.attidentity = ''"
                    + " and a.attgenerated = '' as wanted, a.attgenerated <> '' or a.attidentity ="
                    + " 'a' as computed, t.typname, t.typcategory, case when d.typtype = 'd' then"
                    + " d.typtypmod else a.atttypmod end as modifier"
                    + " from pg_attribute a join pg_type d on d.oid = a.atttypid"
                    + " join pg_type t on t.oid = case when d.typtype = 'd' then d.typbasetype"
                    + " else d.oid end where a.attrelid = ?::regclass and a.attnum > 0"
                    + " and not a.attisdropped";

    private static final String UNIQUE =
            "select exists (select from pg_index i where i.indrelid = ?::regclass"
                    + " and i.indisunique and i.indisvalid and i.indimmediate"
                    + " and i.indpred is null and i.indnkeyatts = cardinality(?::text[])"
                    + " and (select array_agg(a.attname::text) from pg_attribute a"
                    + " where a.attrelid = i.indrelid and a.attnum = any"
                    + " ((i.indkey::int2[])[0:i.indnkeyatts - 1])) @> ?::text[])";

    /** The table as statements name it. */
    String quoted() {
        return Columns.quoted(schema) + "." + Columns.quoted(name);
    }

    String shown() {
        return "table " + schema + "." + name;
    }

    /** Makes the table if it is missing, or requires that it fits. */
    void prepare(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (PreparedStatement lock =
                connection.prepareStatement("select pg_advisory_xact_lock(?)")) {
            lock.setLong(1, MAKING);
            lock.execute();
        }
        LedgerTable.prepare(connection);
        if (id(connection) == null) {
            try (Statement make = connection.createStatement()) {
                make.execute("create table " + quoted() + " (" + columns.definition(keys) + ")");
            }
        } else {
            requireColumns(connection);
            requireUniqueKey(connection);
        }
        connection.commit();
    }

    /** What tells the table from another one of its name; null if there is none. */
    String id(Connection connection) throws SQLException {
        try (PreparedStatement ask =
                connection.prepareStatement(
                        "select d.oid::text || '.' || to_regclass(?)::oid from pg_database d"
                                + " where d.datname = current_database()")) {
            ask.setString(1, quoted());
            try (ResultSet found = ask.executeQuery()) {
                found.next();
                return found.getString(1);
            }
        }
    }

    private void requireColumns(Connection connection) throws SQLException {
        Map<String, TypeFit.Found> there = new HashMap<>();
        try (PreparedStatement ask = connection.prepareStatement(COLUMNS)) {
            ask.setString(1, quoted());
            try (ResultSet found = ask.executeQuery()) {
                while (found.next()) {
                    String column = found.getString("attname");
                    boolean isGiven = columns.has(column);
                    if (isGiven && found.getBoolean("computed")) {
                        throw mismatch("the server computes its column \"" + column + "\" itself.");
                    }
                    if (!isGiven && found.getBoolean("wanted")) {
                        throw mismatch(
                                "its column \"" + column + "\" must not be null, has no default, "
                                        + "and is none of the output.");
                    }
                    there.put(
                            column,
                            new TypeFit.Found(
                                    found.getString("typname"),
                                    found.getString("typcategory"),
                                    found.getInt("modifier")));
                }
            }
        }
        for (StructField field : columns.fields()) {
            requireColumn(field, there.get(field.name()));
        }
    }

    private void requireColumn(StructField field, TypeFit.Found found) {
        if (found == null) {
            throw mismatch("it has no column \"" + field.name() + "\".");
        }
        if (!TypeFit.fits(field.dataType(), found)) {
            throw mismatch(
                    "its column \"" + field.name() + "\" of type " + found.name()
                            + " does not hold every " + field.dataType().simpleString()
                            + " as it is; " + Columns.type(field) + " does.");
        }
    }

    private void requireUniqueKey(Connection connection) throws SQLException {
        if (keys.isEmpty()) {
            return;
        }
        try (PreparedStatement ask = connection.prepareStatement(UNIQUE)) {
            Array wanted = connection.createArrayOf("text", keys.toArray());
            ask.setString(1, quoted());
            ask.setArray(2, wanted);
            ask.setArray(3, wanted);
            try (ResultSet found = ask.executeQuery()) {
                found.next();
                if (!found.getBoolean(1)) {
                    throw mismatch(
                            "rows replace each other by " + shownKeys() + ", and it has no "
                                    + "primary key or unique index on "
                                    + (keys.size() == 1 ? "that column" : "these columns")
                                    + " alone.");
                }
            }
        }
    }

    Refusal gone() {
        return Refusal.of(
                "sink-mismatch",
                shown() + " is not there any more",
                "it was there when the query was started.",
                "put it back; a start makes a new one, and says that it is another.");
    }

    /** The columns of the key as messages name them. */
    String shownKeys() {
        return "\"" + String.join("\", \"", keys) + "\"";
    }

    /** The type of a column, without its modifier: by that a cast would cut a value. */
    String typeOf(String column, Connection connection) throws SQLException {
        try (PreparedStatement ask =
                connection.prepareStatement(
                        "select format_type(atttypid, -1) from pg_attribute"
                                + " where attrelid = ?::regclass and attname = ?")) {
            ask.setString(1, quoted());
            ask.setString(2, column);
            try (ResultSet found = ask.executeQuery()) {
                found.next();
                return found.getString(1);
            }
        }
    }

    private Refusal mismatch(String detail) {
        return Refusal.of(
                "sink-mismatch",
                shown() + " does not fit the output",
                detail,
                "change the table or the output's columns; a table that is missing is made as it "
                        + "should be.");
    }
}
