package io.headrace.sinks.lake;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.classic.Dataset$;
import scala.Option;

/**
 * A session of one sink alone.
 *
 * <p>Some things are told to Spark by settings of the session only, and sinks of one query write
 * beside each other. What is cached is shared by all sessions.
 */
final class OwnSession {
    private final SparkSession session;

    /**
     * Makes one with the settings of the session that the pipeline was started with.
     *
     * @param settings what the sink sets beside these
     */
    OwnSession(Map<String, String> settings) {
        session =
                ((org.apache.spark.sql.classic.SparkSession) SparkSession.getDefaultSession().get())
                        .cloneSession();
        settings.forEach(session.conf()::set);
    }

    SparkSession get() {
        return session;
    }

    /** The same rows, to be written under the settings of this session. */
    Dataset<Row> of(Dataset<Row> rows) {
        return Dataset$.MODULE$.ofRows(
                (org.apache.spark.sql.classic.SparkSession) session,
                ((org.apache.spark.sql.classic.Dataset<Row>) rows).logicalPlan());
    }

    /** Does something as the thread's own session, from which Delta takes its settings. */
    void whileActive(Runnable work) {
        Option<SparkSession> before = SparkSession.getActiveSession();
        SparkSession.setActiveSession(session);
        try {
            work.run();
        } finally {
            if (before.isDefined()) {
                SparkSession.setActiveSession(before.get());
            } else {
                SparkSession.clearActiveSession();
            }
        }
    }

    /** Does something under further settings, which are taken back afterwards. */
    void with(Map<String, String> settings, Runnable work) {
        settings.forEach(session.conf()::set);
        try {
            work.run();
        } finally {
            settings.keySet().forEach(session.conf()::unset);
        }
    }
}
