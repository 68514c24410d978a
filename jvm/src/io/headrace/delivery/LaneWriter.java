package io.headrace.delivery;

import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.CommitDeniedException;
import org.apache.spark.sql.Row;

/** Writes one lane's part of a batch into Kafka's topics, in one transaction. */
final class LaneWriter extends LaneTask {
    private static final long serialVersionUID = 1L;

    private final DeliveryOptions options;

    LaneWriter(DeliveryOptions options, BatchTerms terms) {
        super(terms);
        this.options = options;
    }

    /** What passes is thrown: Spark tries again, and the fence settles what is in doubt. */
    @Override
    protected boolean isResult(Refusal refusal) {
        return refusal.isFinal();
    }

    @Override
    protected int sinks() {
        return options.sinks().size();
    }

    @Override
    protected Receipt deliver(TaskContext task, Iterator<Row> rows)
            throws CommitDeniedException {
        Failpoint.reach("tasks-running");
        Phases phases = new Phases();
        int number = task.partitionId();
        Lane lane = rested(task);
        if (lane != null) {
            return writeOn(lane, task, rows, phases);
        }
        try (Ledger ledger = new Ledger(options, number)) {
            LedgerRecord seen = ledger.glance();
            if (verdict(seen) == Verdict.HELD) {
                phases.end("ledger");
                return held(number, seen, rows, phases);
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
            return held(number, held, rows, phases);
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
            LedgerKind.TOPIC.requireSame(terms, rested.last().terms(), options.adopt());
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
        return verdict(lane.last()) == Verdict.WRITE;
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
            TopicEnds ends = TopicEnds.after(lane.last(), terms);
            while (rows.hasNext()) {
                Row row = rows.next();
                tally.add(row);
                send(lane, row, ends);
            }
            if (ends.isMoved()) {
                lane.flush();
            }
            if (Failpoint.watches("rows-flushed")) {
                lane.flush();
                Failpoint.reach("rows-flushed");
            }
            LedgerRecord record =
                    new LedgerRecord(terms, tally.total(), tally.checksum(), ends.offsets());
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

    private void send(Lane lane, Row row, TopicEnds ends) {
        ProducerRecord<byte[], byte[]> record = OutgoingRows.toKafka(row, options.sinks());
        if (!options.sinks().get(OutgoingRows.sink(row)).isStamped()) {
            lane.send(record);
            return;
        }
        record.headers().add("headrace.batch", stamp());
        ends.expect();
        lane.send(record, ends::reach);
    }

    /** The batch as a record tells it; numbers begin anew with each checkpoint. */
    private byte[] stamp() {
        return (terms.lineage() + ":" + terms.batch()).getBytes(StandardCharsets.US_ASCII);
    }

    private Verdict verdict(LedgerRecord last) {
        return Verdict.on(terms, last, options.adopt(), LedgerKind.TOPIC);
    }

    private Receipt held(int number, LedgerRecord held, Iterator<Row> rows, Phases phases) {
        Tally tally = readHeld(number, held, rows, options.adopt().contains("batch"));
        phases.end("plan");
        return new Receipt(number, true, tally.rows(), phases.millis());
    }
}
