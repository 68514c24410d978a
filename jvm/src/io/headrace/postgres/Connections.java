package io.headrace.postgres;

import io.headrace.delivery.Breaker;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.postgresql.Driver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens connections, and keeps those of lanes between two batches that come soon enough. */
final class Connections {
    private static final Logger LOG = LoggerFactory.getLogger(Connections.class);
    private static final Duration REST = Duration.ofSeconds(30);

    private static final Map<String, Resting> RESTING = new ConcurrentHashMap<>();

    /** In a thread that keeps no JVM alive. */
    private static final ScheduledExecutorService CLOCK =
            Executors.newSingleThreadScheduledExecutor(
                    work -> {
                        Thread thread = new Thread(work, "headrace-postgres-rest");
                        thread.setDaemon(true);
                        return thread;
                    });

    static {
        CLOCK.scheduleWithFixedDelay(
                Connections::sweep, REST.toMillis(), REST.toMillis(), TimeUnit.MILLISECONDS);
    }

    private Connections() {}

    /**
     * Opens a connection; where the server is known to be away, it fails at once.
     *
     * @param login how long the server may take to let us in, before it counts as away
     * @param answer how long it may take for each answer afterwards
     */
    static Connection open(Address address, String application, Duration login, Duration answer)
            throws SQLException {
        Properties told = address.properties(application, login);
        return Breaker.of(address.server())
                .guarded(
                        () -> {
                            Connection made = new Driver().connect(address.url(), told);
                            made.setNetworkTimeout(Runnable::run, (int) answer.toMillis());
                            set(made, "timezone", "'UTC'");
                            notice(made);
                            return made;
                        },
                        problem -> problem instanceof SQLException sql && Problems.isAway(sql));
    }

    /** Opens a connection to see whether the server lets anybody in, whatever is known of it. */
    static Connection ask(Address address, String application, Duration login)
            throws SQLException {
        return new Driver().connect(address.url(), address.properties(application, login));
    }

    /** Lets the server notice that we are gone while it waits for a lock, or works for long. */
    private static void notice(Connection made) throws SQLException {
        try {
            set(made, "client_connection_check_interval", "1000");
        } catch (SQLException problem) {
            if (Problems.isAway(problem)) {
                throw problem;
            }
            // Servers before 14 cannot, nor can those on some systems.
            LOG.debug("the server does not look after its clients", problem);
        }
    }

    static void set(Connection made, String setting, String value) throws SQLException {
        try (Statement settings = made.createStatement()) {
            settings.execute("set " + setting + " = " + value);
        }
    }

    /** Takes the connection that rests for a lane; null if none does, or it has been closed. */
    static Connection take(String name) {
        Resting resting = RESTING.remove(name);
        return resting == null ? null : resting.connection();
    }

    /** Lets a connection rest that is in no transaction. */
    static void rest(String name, Connection connection) {
        Resting before = RESTING.put(name, new Resting(connection, System.nanoTime()));
        if (before != null) {
            close(before.connection());
        }
    }

    /** Breaks a connection, also one that another thread waits for. */
    static void abort(Connection connection) {
        try {
            connection.abort(Runnable::run);
        } catch (SQLException problem) {
            LOG.debug("a connection could not be broken", problem);
        }
    }

    static void close(Connection connection) {
        try {
            connection.close();
        } catch (SQLException problem) {
            // What was open on it goes when the server sees its end.
            LOG.debug("a connection could not be closed", problem);
        }
    }

    private static void sweep() {
        RESTING.forEach(
                (name, resting) -> {
                    boolean isOld = System.nanoTime() - resting.since() > REST.toNanos();
                    if (isOld && RESTING.remove(name, resting)) {
                        close(resting.connection());
                    }
                });
    }

    private record Resting(Connection connection, long since) {}
}
