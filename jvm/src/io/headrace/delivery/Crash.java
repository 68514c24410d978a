package io.headrace.delivery;

import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.classic.StreamingQueryManager;
import org.apache.spark.sql.streaming.StreamingQuery;

/**
 * A crash that its JVM survives, for tests: the threads of a query stand still for good.
 *
 * <p>A thread that stands at a failpoint cannot be told from one that is slow, so each that comes
 * to a failpoint after the crash stands still as well, and the others soon wait for those. Then
 * {@link #abandon} takes from the query what a kernel and a new process would: its sockets and its
 * place in this JVM's registers. Nothing is closed, committed or given back.
 *
 * <p>Works only in a JVM that was started with {@code HEADRACE_FAILPOINT=within}.
 */
public final class Crash {
    private static final boolean IS_ALLOWED =
            "within".equals(System.getenv("HEADRACE_FAILPOINT"));

    /** All that ever stood still here, with their tasks. */
    private static final Map<Thread, Optional<TaskContext>> STILL = new ConcurrentHashMap<>();

    private static volatile boolean isStruck;
    private static volatile int stillBefore;

    private Crash() {}

    /**
     * Begins a run in a session of its own, which is to crash at one of some failpoints.
     *
     * @param failpoints as in the variable, {@code name:n}; none if it is empty
     */
    public static void arm(SparkSession session, String failpoints) {
        if (!IS_ALLOWED) {
            throw new IllegalStateException("HEADRACE_FAILPOINT is not \"within\"");
        }
        isStruck = false;
        stillBefore = STILL.size();
        SparkSession.setDefaultSession(session);
        Failpoint.set(failpoints);
    }

    /** Whether a failpoint was reached since the run began. */
    public static boolean isStruck() {
        return isStruck;
    }

    /**
     * Whether nothing of the run that has crashed moves any more.
     *
     * <p>To be asked for several times: a query's thread may wait for tasks that have not begun.
     */
    public static boolean isQuiet() {
        return STILL.size() > stillBefore
                && Thread.getAllStackTraces().keySet().stream().noneMatch(Crash::moves);
    }

    private static boolean moves(Thread thread) {
        String name = thread.getName();
        if (STILL.containsKey(thread)) {
            return false;
        }
        boolean isOfDriver =
                name.startsWith("stream execution thread") || name.endsWith(" to a sink");
        return name.startsWith("Executor task launch worker for task")
                || isOfDriver && thread.getState() != Thread.State.WAITING;
    }

    /** Takes from a session's queries, which are quiet, all that would outlive a process. */
    public static void abandon(SparkSession session) {
        StreamingQueryManager queries = (StreamingQueryManager) session.streams();
        for (StreamingQuery query : queries.active()) {
            ((org.apache.spark.sql.classic.SparkSession) session)
                    .sharedState()
                    .activeStreamingQueries()
                    .remove(query.id());
        }
        Lanes.forget();
        SharedProducer.forget();
        // A lane that is told of its task's end breaks its connection, as a kernel does; a server
        // would otherwise keep what is locked for it.
        STILL.values().stream()
                .flatMap(Optional::stream)
                .filter(task -> !task.isInterrupted())
                .forEach(task -> ((TaskContextImpl) task).markInterrupted("its query crashed"));
    }

    /** Lets the run crash here and now. */
    static void strike() {
        isStruck = true;
        standStill();
    }

    /** Goes on only if the run has not crashed. */
    static void pass() {
        if (isStruck) {
            standStill();
        }
    }

    private static void standStill() {
        Thread self = Thread.currentThread();
        if (self.getName().startsWith("spark-listener-group")) {
            // It serves all queries of the JVM. The query's own thread comes by soon.
            return;
        }
        STILL.put(self, Optional.ofNullable(TaskContext.get()));
        while (true) {
            LockSupport.park();
            // Otherwise the next one would return at once.
            Thread.interrupted();
        }
    }
}
