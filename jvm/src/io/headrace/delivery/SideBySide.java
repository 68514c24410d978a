package io.headrace.delivery;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.apache.spark.SparkContext;

/** Runs jobs of Spark beside each other, and ends them when the query is stopped. */
final class SideBySide {
    private static final String JOB_GROUP = "spark.jobGroup.id";
    private static final long PAUSE_MS = 100;

    private SideBySide() {}

    /**
     * Gives what all of them give, in their order.
     *
     * <p>If some fail, the others are let finish. The failure that is thrown is a named one if
     * there is one, and the first of those.
     *
     * @throws InterruptedException if the calling thread is; all have ended by then
     */
    static <T> List<T> run(SparkContext spark, List<Callable<T>> jobs) throws Exception {
        List<FutureTask<T>> tasks = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (Callable<T> job : jobs) {
            FutureTask<T> task = new FutureTask<>(job);
            // A thread inherits Spark's local properties, and with them the query's job group,
            // from the one that makes it.
            Thread thread = new Thread(task, Thread.currentThread().getName() + " to a sink");
            thread.setDaemon(true);
            tasks.add(task);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
        List<T> results = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        try {
            for (FutureTask<T> task : tasks) {
                try {
                    results.add(task.get());
                } catch (ExecutionException problem) {
                    failures.add(problem.getCause());
                }
            }
        } catch (InterruptedException stopped) {
            end(spark, threads);
            throw stopped;
        }
        if (!failures.isEmpty()) {
            throw first(failures);
        }
        return results;
    }

    /** Ends all threads: their jobs are cancelled with the query's group, the rest is told. */
    private static void end(SparkContext spark, List<Thread> threads) {
        String group = spark.getLocalProperty(JOB_GROUP);
        for (Thread thread : threads) {
            boolean isInterrupted = false;
            while (thread.isAlive()) {
                // Again, as a thread may have begun another job in between.
                if (group != null) {
                    spark.cancelJobGroup(group);
                }
                thread.interrupt();
                try {
                    thread.join(PAUSE_MS);
                } catch (InterruptedException again) {
                    isInterrupted = true;
                }
            }
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static Exception first(List<Throwable> failures) throws Exception {
        Throwable told =
                failures.stream()
                        .filter(Refusal.class::isInstance)
                        .findFirst()
                        .orElse(failures.get(0));
        for (Throwable other : failures) {
            if (other != told) {
                told.addSuppressed(other);
            }
        }
        if (told instanceof Error error) {
            throw error;
        }
        return (Exception) told;
    }
}
