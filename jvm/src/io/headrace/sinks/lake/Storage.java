package io.headrace.sinks.lake;

import io.headrace.delivery.Refusal;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.spark.sql.AnalysisException;

/** Does something with storage that Spark writes to, and names what goes wrong. */
final class Storage {
    private Storage() {}

    /** Something that may fail in whatever way; Spark throws checked exceptions unannounced. */
    interface Work {
        void run() throws Exception;
    }

    /**
     * Does it.
     *
     * @param what it is done to, for the reader of an error
     */
    static void use(String what, Work work) {
        try {
            work.run();
        } catch (Refusal refusal) {
            throw refusal;
        } catch (Exception problem) {
            throw named(what, problem);
        }
    }

    static RuntimeException named(String what, Exception problem) {
        Throwable unfit = cause(problem, AnalysisException.class);
        if (unfit != null) {
            return Refusal.of(
                    "sink-mismatch",
                    what + " does not fit the output",
                    told(unfit),
                    "change it or the output as the detail says, or write elsewhere.");
        }
        Throwable away = cause(problem, IOException.class);
        if (away == null) {
            away = cause(problem, UncheckedIOException.class);
        }
        if (away != null) {
            return Refusal.passing(
                    problem,
                    "sink-unreachable",
                    what + " cannot be read or written",
                    told(away),
                    "nothing of the batch can be seen there; it is written when the storage "
                            + "answers and the pipeline is started again.");
        }
        return problem instanceof RuntimeException plain
                ? plain
                : new IllegalStateException(problem);
    }

    /** The first line of what a failure says, as a sentence. */
    static String told(Throwable problem) {
        String line = String.valueOf(problem.getMessage()).lines().findFirst().orElse("");
        String kind = problem.getClass().getSimpleName();
        return (line.isEmpty() ? kind : kind + ": " + line) + (line.endsWith(".") ? "" : ".");
    }

    static <T extends Throwable> T cause(Throwable problem, Class<T> kind) {
        for (Throwable at = problem; at != null; at = at.getCause()) {
            if (kind.isInstance(at)) {
                return kind.cast(at);
            }
        }
        return null;
    }
}
