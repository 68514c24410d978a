package io.headrace.remote;

import io.headrace.delivery.Refusal;
import io.headrace.postgres.PostgresRows;
import io.headrace.sinks.ServerAddress;
import io.headrace.sinks.redis.RedisRows;

/** The systems that can be asked, by their names. */
final class RemoteTables {
    private RemoteTables() {}

    /**
     * Opens a table; its server is called with the first question.
     *
     * @throws Refusal if the session lacks the jars of the system
     */
    static RemoteTable open(RemoteTerms terms) {
        try {
            // Each branch loads its classes alone, as those of others may not be there.
            return switch (terms.system()) {
                case "postgres" -> new PostgresRows(terms);
                case "redis" -> new RedisRows(terms);
                default -> throw new IllegalArgumentException("no system " + terms.system());
            };
        } catch (NoClassDefFoundError missing) {
            throw Refusal.of(
                    "sink-jars-missing",
                    "this Spark session cannot ask " + terms.system(),
                    "its class path has no " + missing.getMessage() + ".",
                    "let headrace start the session, with the artifacts of the pipeline.");
        }
    }

    /** Where the server is, as it may be shown. */
    static String server(RemoteTerms terms) {
        return ServerAddress.parse(terms.settings().get("address")).toString();
    }
}
