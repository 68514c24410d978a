package io.headrace.postgres;

import io.headrace.delivery.Refusal;
import java.sql.SQLException;
import java.util.Set;

/** Gives what PostgreSQL answers the name under which a user can look it up. */
final class Problems {
    /** Shutdown, crash and start-up of the server, and what it lacks for the moment. */
    private static final Set<String> AWAY =
            Set.of("57P01", "57P02", "57P03", "57P05", "53100", "53200", "53300", "25P03", "25P04");

    private static final Set<String> BLOCKED =
            Set.of("40001", "40P01", "55P03", "57014");

    private static final Set<String> CHANGED =
            Set.of("3D000", "3F000", "42P01", "42703", "42P10", "428C9", "0A000");

    private final Address address;

    Problems(Address address) {
        this.address = address;
    }

    /** Names a failure before the commit: nothing of the batch is in the table. */
    Refusal named(SQLException problem) {
        String state = state(problem);
        if (isAway(problem)) {
            return Refusal.passing(
                    problem,
                    "sink-unreachable",
                    "no answer from " + address.shown(),
                    told(problem),
                    "the batch is written when the server answers; start it, or look at its "
                            + "address.");
        }
        if (BLOCKED.contains(state)) {
            return Refusal.passing(
                    problem,
                    "sink-blocked",
                    "others hold what a batch has to write in " + address.shown(),
                    told(problem),
                    "find the other session in pg_stat_activity, and let it end.");
        }
        if (state.startsWith("28") || state.equals("42501")) {
            return Refusal.of(
                    "sink-forbidden",
                    address.shown() + " does not let this account do it",
                    told(problem),
                    "look at the password file and at the account's rights: it writes the table, "
                            + "and the table headrace_delivery.ledger.");
        }
        if (CHANGED.contains(state)) {
            return Refusal.of(
                    "sink-mismatch",
                    "what a batch is to be written to in " + address.shown() + " does not fit",
                    told(problem),
                    "give the table the columns of the output, or write to another one.");
        }
        return Refusal.of(
                "output-refused",
                address.shown() + " does not take a batch",
                told(problem),
                "nothing of the batch is there; mend what the detail names, and start again.");
    }

    /** Names a failure of the commit itself: the batch is in the table, or it is not. */
    Refusal inDoubt(SQLException problem) {
        if (!isAway(problem)) {
            // The server has answered, and what it refuses at the commit it has rolled back.
            return isOfRow(problem) ? row("at the commit", problem) : named(problem);
        }
        return Refusal.passing(
                problem,
                "commit-unknown",
                address.shown() + " did not say whether a batch was committed",
                told(problem),
                "start again: the next attempt finds out, and writes the batch only if it is not "
                        + "there.");
    }

    /** Names a row that breaks a constraint or does not fit a type. */
    Refusal row(String which, SQLException problem) {
        return Refusal.of(
                "row-refused",
                address.shown() + " refuses a row: " + which,
                told(problem),
                "nothing of the batch is in the table; change the constraint that the detail "
                        + "names, or the step that makes the row.");
    }

    /** Whether the server does not answer, or not for now. */
    static boolean isAway(SQLException problem) {
        return state(problem).startsWith("08") || AWAY.contains(state(problem));
    }

    /** Whether what was wrong is the content of a row, and not the way to write it. */
    static boolean isOfRow(SQLException problem) {
        String state = state(problem);
        return state.startsWith("21") || state.startsWith("22") || state.startsWith("23")
                || state.startsWith("44") || state.startsWith("P0") || state.startsWith("54");
    }

    static String state(SQLException problem) {
        return problem.getSQLState() == null ? "" : problem.getSQLState();
    }

    static String told(SQLException problem) {
        return problem.getMessage().strip() + " (SQLSTATE " + state(problem) + ")";
    }
}
