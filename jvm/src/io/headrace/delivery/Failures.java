package io.headrace.delivery;

import java.util.List;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RecordBatchTooLargeException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.RetriableException;

/** Gives a failure of a Kafka client the name under which a user can look it up. */
final class Failures {
    /** Answers that would be the same at every attempt. */
    private static final List<Class<? extends ApiException>> LASTING =
            List.of(
                    AuthorizationException.class,
                    InvalidRecordException.class,
                    InvalidTimestampException.class,
                    InvalidTopicException.class,
                    PolicyViolationException.class,
                    RecordBatchTooLargeException.class,
                    RecordTooLargeException.class);

    private Failures() {}

    /** Names a failure before a commit was asked for: nothing of the batch is in the output. */
    static RuntimeException named(Throwable problem, DeliveryOptions options) {
        if (problem instanceof Refusal refusal) {
            return refusal;
        }
        if (isCausedBy(problem, ProducerFencedException.class)
                || isCausedBy(problem, InvalidProducerEpochException.class)) {
            return fenced(options);
        }
        ApiException answer = cause(problem, ApiException.class);
        if (LASTING.stream().anyMatch(kind -> kind.isInstance(answer))) {
            return Refusal.of(
                    "output-refused",
                    "the brokers refuse a row of this batch",
                    answer.toString(),
                    "nothing of the batch is in the output; change the limit or the permission "
                            + "that the detail names, or the step that makes the row.");
        }
        if (answer != null) {
            return Refusal.passing(
                    problem,
                    "output-unreachable",
                    "the brokers at " + options.bootstrap() + " do not take the rows",
                    answer.toString(),
                    "nothing of the batch is in the output; it is written when the brokers "
                            + "answer and the pipeline is started again.");
        }
        return problem instanceof RuntimeException plain ? plain : new KafkaException(problem);
    }

    /** Names a failure before a query starts. */
    static RuntimeException unprepared(Throwable problem, DeliveryOptions options) {
        if (problem instanceof RetriableException) {
            return Refusal.ofLog(
                    "broker-unreachable",
                    "no Kafka broker answers at " + options.bootstrap(),
                    problem.toString(),
                    "`headrace status` shows what runs; `headrace up kafka` starts one.");
        }
        return Refusal.ofLog(
                "topic-refused",
                "the cluster does not make the topics of pipeline \"" + options.pipeline() + "\"",
                problem.toString(),
                "make them beforehand, or let the account make topics.");
    }

    /** Names a failure of the commit itself: the batch is in the output, or it is not. */
    static RuntimeException inDoubt(Throwable problem, DeliveryOptions options) {
        if (isCausedBy(problem, ProducerFencedException.class)
                || isCausedBy(problem, InvalidProducerEpochException.class)) {
            return fenced(options);
        }
        return Refusal.passing(
                problem,
                "commit-unknown",
                "the brokers did not say whether a batch was committed",
                problem.toString(),
                "start again: the next attempt finds out, and writes the batch only if it is "
                        + "not there.");
    }

    /** The coordinator ended the transaction by itself: raising the epoch, as a fence does. */
    static Refusal timedOut(DeliveryOptions options, long tookMs) {
        return Refusal.of(
                "transaction-timeout",
                "writing a batch took longer than its transaction may",
                "it took " + tookMs / 1000 + " s, and transaction.timeout.ms is "
                        + ClientSettings.transactionTimeoutMs(options) + ".",
                "nothing of the batch is in the output; read less in a batch, or raise "
                        + "transaction.timeout.ms.");
    }

    private static Refusal fenced(DeliveryOptions options) {
        return Refusal.of(
                "writer-fenced",
                "this writer was fenced: another one has taken over query \"" + options.query()
                        + "\" of pipeline \"" + options.pipeline() + "\"",
                "the brokers let only the newest holder of a lane commit; this one has written "
                        + "nothing since.",
                "find the other driver; stop it before you start this one again.");
    }

    static boolean isCausedBy(Throwable problem, Class<? extends Throwable> kind) {
        return cause(problem, kind) != null;
    }

    private static <T extends Throwable> T cause(Throwable problem, Class<T> kind) {
        for (Throwable at = problem; at != null; at = at.getCause()) {
            if (kind.isInstance(at)) {
                return kind.cast(at);
            }
        }
        return null;
    }
}
