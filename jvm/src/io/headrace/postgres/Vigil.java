package io.headrace.postgres;

import io.headrace.sinks.Deadline;
import java.net.SocketTimeoutException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Breaks a connection whose server stands still: it keeps connections, and says nothing on them.
 *
 * <p>A statement may take long, so its silence says nothing. But a server that works lets others in
 * meanwhile: now and then that is tried.
 */
final class Vigil {
    private static final Logger LOG = LoggerFactory.getLogger(Vigil.class);

    private final Connection watched;
    private final Address address;
    private final String application;
    private final Duration silence;
    private Deadline next;
    private boolean isOver;

    /**
     * Begins.
     *
     * @param silence how long the server may take to let somebody in; so often it is tried
     */
    Vigil(Connection watched, Address address, String application, Duration silence) {
        this.watched = watched;
        this.address = address;
        this.application = application;
        this.silence = silence;
        plan();
    }

    synchronized void close() {
        isOver = true;
        next.close();
    }

    private synchronized void plan() {
        if (!isOver) {
            next = Deadline.in(silence, this::look);
        }
    }

    private void look() {
        try {
            Connections.close(Connections.ask(address, application, silence));
        } catch (SQLException problem) {
            if (isSilence(problem)) {
                end();
                return;
            }
        }
        plan();
    }

    private synchronized void end() {
        if (isOver) {
            return;
        }
        isOver = true;
        LOG.warn("{} has let nobody in for {}; its connection is given up",
                address.server(), silence);
        Connections.abort(watched);
    }

    /** Everything else is an answer, were it a refusal. */
    private static boolean isSilence(SQLException problem) {
        for (Throwable cause = problem; cause != null; cause = cause.getCause()) {
            if (cause instanceof SocketTimeoutException) {
                return true;
            }
        }
        return false;
    }
}
