package io.headrace.postgres;

import io.headrace.delivery.Failpoint;
import io.headrace.delivery.OutgoingRow;
import io.headrace.sinks.Deadline;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;

/** Copies a lane's rows into a table of the connection's own, in PostgreSQL's binary form. */
final class Loading {
    /** Has the rows of the transaction: their order, their key, and a document or nothing. */
    static final String TABLE = "headrace_rows";

    private static final byte[] SIGNATURE = {
        'P', 'G', 'C', 'O', 'P', 'Y', '\n', (byte) 0xff, '\r', '\n', 0, 0, 0, 0, 0, 0, 0, 0, 0
    };
    private static final int FULL = 64 * 1024;
    private static final int END = -1;
    private static final int NULL = -1;

    private final Connection connection;
    private final Duration longest;
    private final CopyIn copy;
    private final ByteArrayOutputStream buffer = new ByteArrayOutputStream(2 * FULL);
    private final DataOutputStream output = new DataOutputStream(buffer);
    private long rows;

    /**
     * Begins; the connection takes nothing else until {@link #end}.
     *
     * @param longest how long the server may take to accept some rows
     */
    Loading(Connection connection, Duration longest) throws SQLException {
        this.connection = connection;
        this.longest = longest;
        try (Statement make = connection.createStatement()) {
            make.execute(
                    "create temp table if not exists " + TABLE
                            + " (ordinal bigint, key bytea, doc json) on commit delete rows");
        }
        copy =
                connection
                        .unwrap(PGConnection.class)
                        .getCopyAPI()
                        .copyIn("copy pg_temp." + TABLE + " from stdin (format binary)");
        buffer.writeBytes(SIGNATURE);
    }

    void add(OutgoingRow row) throws SQLException {
        try {
            output.writeShort(3);
            output.writeInt(Long.BYTES);
            output.writeLong(rows++);
            write(row.key());
            write(row.value());
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
        if (buffer.size() >= FULL) {
            send();
        }
    }

    /** Ends, once the server has all rows; gives how many. */
    long end() throws SQLException {
        try {
            output.writeShort(END);
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
        send();
        copy.endCopy();
        return rows;
    }

    private void write(byte[] content) throws IOException {
        if (content == null) {
            output.writeInt(NULL);
        } else {
            output.writeInt(content.length);
            output.write(content);
        }
    }

    private void send() throws SQLException {
        Deadline deadline = Deadline.in(longest, () -> Connections.abort(connection));
        try {
            copy.writeToCopy(buffer.toByteArray(), 0, buffer.size());
        } finally {
            deadline.close();
        }
        buffer.reset();
        Failpoint.reach("postgres", "rows-copying");
    }
}
