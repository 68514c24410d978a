package io.headrace.sinks.lake;

import io.delta.exceptions.ConcurrentTransactionException;
import io.delta.exceptions.DeltaConcurrentModificationException;
import io.headrace.delivery.Refusal;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.delta.schema.DeltaInvariantViolationException;

/** Gives a failure of Delta the name under which a user can look it up. */
final class DeltaFailures {
    private static final String OUT_OF_ATTEMPTS = "DELTA_MAX_COMMIT_RETRIES_EXCEEDED";

    private DeltaFailures() {}

    /** Does something with a table, and names what goes wrong. */
    static void named(DeltaTarget target, Storage.Work work) {
        String table = "table " + target.place();
        Storage.use(
                table,
                () -> {
                    try {
                        work.run();
                    } catch (Exception problem) {
                        Refusal own = own(table, problem);
                        throw own == null ? problem : own;
                    }
                });
    }

    private static Refusal own(String table, Exception problem) {
        if (Storage.cause(problem, ConcurrentTransactionException.class) != null) {
            return fenced(table, problem);
        }
        if (Storage.cause(problem, DeltaConcurrentModificationException.class) != null
                || isOutOfAttempts(problem)) {
            return Refusal.passing(
                    problem,
                    "table-contended",
                    "others change " + table + " at the same time",
                    Storage.told(problem),
                    "nothing of the batch is in the table; let those who delete, update or "
                            + "optimise do so while the pipeline rests, or in other partitions.");
        }
        Throwable violated = Storage.cause(problem, DeltaInvariantViolationException.class);
        if (violated != null) {
            return Refusal.of(
                    "row-refused",
                    table + " refuses a row of this batch",
                    Storage.told(violated),
                    "nothing of the batch is in the table; change the constraint that the detail "
                            + "names, or the step that makes the row.");
        }
        return null;
    }

    private static boolean isOutOfAttempts(Throwable problem) {
        for (Throwable at = problem; at != null; at = at.getCause()) {
            boolean isNamed = at instanceof SparkThrowable;
            if (isNamed && OUT_OF_ATTEMPTS.equals(((SparkThrowable) at).getCondition())) {
                return true;
            }
        }
        return false;
    }

    /** Another attempt reads the ledger, and can tell whether the batch is held or not ours. */
    static Refusal fenced(String table, Throwable cause) {
        return Refusal.passing(
                cause,
                "writer-fenced",
                "another driver has written to " + table + " under this output's name",
                "of two commits of a batch Delta takes the first; this one has written nothing.",
                "find the other driver; stop it before you start this one again.");
    }
}
