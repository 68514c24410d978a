package io.headrace.delivery;

import java.util.Collections;
import java.util.Iterator;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.executor.CommitDeniedException;
import org.apache.spark.sql.Row;

/**
 * Writes one lane's part of a batch, in a task on an executor, unless the ledger holds it.
 *
 * <p>Gives one receipt as JSON. Refusals are results too; only what another attempt may settle is
 * thrown.
 */
final class LaneWriter
        implements MapPartitionsFunction<Row, String>, FlatMapFunction<Iterator<Row>, String> {
    private static final long serialVersionUID = 1L;

    private final DeliveryOptions options;
    private final BatchTerms terms;

    LaneWriter(DeliveryOptions options, BatchTerms terms) {
        this.options = options;
        this.terms = terms;
    }

    @Override
    public Iterator<String> call(Iterator<Row> rows) throws CommitDeniedException {
        TaskContext task = TaskContext.get();
        if (task.numPartitions() != terms.lanes()) {
            if (rows.hasNext()) {
                throw new IllegalStateException(
                        task.numPartitions() + " tasks for " + terms.lanes() + " lanes");
            }
            // Spark may plan a batch without rows as it likes; the driver sees that lanes lack.
            return Collections.emptyIterator();
        }
        Failpoint.reach("tasks-running");
        try {
            return Collections.singleton(deliver(task, rows).toJson()).iterator();
        } catch (Refusal refusal) {
            if (refusal.isFinal()) {
                return Collections.singleton(Receipt.refused(refusal)).iterator();
            }
            throw refusal;
        }
    }

    private Receipt deliver(TaskContext task, Iterator<Row> rows) throws CommitDeniedException {
        Phases phases = new Phases();
        int number = task.partitionId();
        Lane lane = rested(task);
        if (lane != null) {
            return writeOn(lane, task, rows, phases);
        }
        try (Ledger ledger = new Ledger(options, number)) {
            LedgerRecord seen = ledger.glance();
            if (Verdict.on(terms, seen, options.adopt()) == Verdict.HELD) {
                phases.end("ledger");
                return readHeld(number, seen, rows, phases);
            }
            lane = new Lane(options, number);
            try {
                Turn.await(task);
                if (mayWriteAfterFence(lane, ledger, phases)) {
                    return write(lane, rows, phases);
                }
            } catch (RuntimeException | CommitDeniedException problem) {
                lane.drop();
                throw problem;
            }
            LedgerRecord held = lane.last();
            Lanes.rest(options, lane);
            return readHeld(number, held, rows, phases);
        }
    }

    /** The lane that wrote the batch before, if it is here and may still hold its name. */
    private Lane rested(TaskContext task) {
        Lane lane = Lanes.take(options, task.partitionId(), terms);
        boolean isFirst = task.attemptNumber() == 0 && task.stageAttemptNumber() == 0;
        if (lane != null && !isFirst) {
            // An attempt before this one may have fenced it, in another executor.
            lane.drop();
            return null;
        }
        return lane;
    }

    private Receipt writeOn(Lane rested, TaskContext task, Iterator<Row> rows, Phases phases)
            throws CommitDeniedException {
        try {
            Verdict.requireSameTopics(terms, rested.last().terms(), options.adopt());
            Turn.await(task);
        } catch (RuntimeException | CommitDeniedException problem) {
            rested.close();
            throw problem;
        }
        try {
            return write(rested, rows, phases);
        } catch (Refusal refusal) {
            // Fenced by another driver, or by an attempt in another executor while this one
            // rested. Another attempt reads the ledger and can tell.
            throw refusal.slug().equals("writer-fenced") ? refusal.passing() : refusal;
        }
    }

    private boolean mayWriteAfterFence(Lane lane, Ledger ledger, Phases phases) {
        lane.fence();
        Failpoint.reach("lane-fenced");
        phases.end("fence");
        lane.knows(ledger.settled());
        Failpoint.reach("ledger-read");
        phases.end("ledger");
        return Verdict.on(terms, lane.last(), options.adopt()) == Verdict.WRITE;
    }

    private Receipt write(Lane lane, Iterator<Row> rows, Phases phases) {
        boolean isCommitted = false;
        try {
            // The first row comes when all were shuffled and sorted. The transaction's clock
            // should not run meanwhile.
            rows.hasNext();
            phases.end("plan");
            Tally tally = new Tally(options.sinks().size());
            LedgerRecord record = fill(lane, rows, tally);
            phases.end("rows");
            lane.commit(record);
            isCommitted = true;
            phases.end("commit");
            Failpoint.reach("committed");
            Lanes.rest(options, lane);
            return new Receipt(lane.number(), false, tally.rows(), phases.millis());
        } finally {
            if (!isCommitted) {
                lane.drop();
            }
        }
    }

    /** Sends the rows and their record; afterwards the brokers have all, and nothing is visible. */
    private LedgerRecord fill(Lane lane, Iterator<Row> rows, Tally tally) {
        boolean isFilled = false;
        try {
            lane.begin();
            while (rows.hasNext()) {
                Row row = rows.next();
                tally.add(row);
                lane.send(OutgoingRows.toKafka(row, options.sinks()));
            }
            if (Failpoint.watches("rows-flushed")) {
                lane.flush();
                Failpoint.reach("rows-flushed");
            }
            LedgerRecord record = new LedgerRecord(terms, tally.total(), tally.checksum());
            lane.sendRecord(record, lane.number());
            lane.flush();
            Failpoint.reach("record-sent");
            isFilled = true;
            return record;
        } finally {
            if (!isFilled) {
                lane.abandon();
            }
        }
    }

    /** Reads the rows of a part that is in the output already, and writes nothing. */
    private Receipt readHeld(int number, LedgerRecord held, Iterator<Row> rows, Phases phases) {
        Tally tally = new Tally(options.sinks().size());
        rows.forEachRemaining(tally::add);
        phases.end("plan");
        // With one lane, the evaluation that was committed counts as a whole. With several, the
        // other lanes may be written from this one.
        boolean isComparable =
                terms.lanes() > 1
                        && held.terms().batch() == terms.batch()
                        && held.checksum() != null
                        && !options.adopt().contains("batch");
        if (isComparable && held.checksum() != tally.checksum()) {
            throw Refusal.of(
                    "batch-not-deterministic",
                    "batch " + terms.batch() + " gave other rows when it was run again",
                    "lane " + number + " holds " + held.rows() + " rows, and " + tally.total()
                            + " with another checksum came now.",
                    "take random values and the current time out of the steps, or use one lane; "
                            + "to keep what the lane holds, start once with adopt=\"batch\".");
        }
        return new Receipt(number, true, tally.rows(), phases.millis());
    }
}
