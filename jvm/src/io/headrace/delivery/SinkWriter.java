package io.headrace.delivery;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.CommitDeniedException;
import org.apache.spark.sql.Row;
import org.apache.spark.util.TaskInterruptListener;

/** Writes one lane's part of a batch into a sink that keeps its own ledger. */
final class SinkWriter extends LaneTask {
    private static final long serialVersionUID = 1L;

    private final DeliveryOptions options;
    private final int place;
    private final RowSink sink;

    /**
     * Prepares the tasks of one batch.
     *
     * @param place of the sink among all
     * @param sink opens the lanes
     */
    SinkWriter(DeliveryOptions options, int place, RowSink sink, BatchTerms terms) {
        super(terms);
        this.options = options;
        this.place = place;
        this.sink = sink;
    }

    /** What passes, too: the driver knows when to try again. */
    @Override
    protected boolean isResult(Refusal refusal) {
        return true;
    }

    @Override
    protected int sinks() {
        return options.sinks().size();
    }

    @Override
    protected Receipt deliver(TaskContext task, Iterator<Row> rows) throws CommitDeniedException {
        reach("tasks-running");
        Phases phases = new Phases();
        int number = task.partitionId();
        try (SinkLane lane = sink.lane(number)) {
            TaskInterruptListener ending = (same, reason) -> lane.interrupt();
            task.addTaskInterruptListener(ending);
            Optional<LedgerRecord> seen = lane.glance();
            if (seen.isPresent() && verdict(seen.get()) == Verdict.HELD) {
                phases.end("ledger");
                return held(number, seen.get(), rows, phases);
            }
            // The first row comes when all were shuffled and sorted. Nobody should have to wait
            // for the lane meanwhile.
            rows.hasNext();
            phases.end("plan");
            Turn.await(task);
            LedgerRecord last = lane.claim();
            reach("lane-fenced");
            phases.end("claim");
            boolean isHeld = verdict(last) == Verdict.HELD;
            reach("ledger-read");
            return isHeld ? held(number, last, rows, phases) : write(number, lane, rows, phases);
        }
    }

    private Receipt write(int number, SinkLane lane, Iterator<Row> rows, Phases phases) {
        Tally tally = new Tally(sinks());
        Versions versions = new Versions(terms, sink.isVersioned());
        while (rows.hasNext()) {
            Row row = rows.next();
            tally.add(row);
            lane.write(OutgoingRows.versioned(row, versions.next()));
        }
        phases.end("rows");
        lane.commit(new LedgerRecord(terms, tally.total(), tally.checksum()));
        phases.end("commit");
        reach("committed");
        return receipt(number, false, tally, phases);
    }

    private Receipt held(int number, LedgerRecord held, Iterator<Row> rows, Phases phases) {
        Tally tally = readHeld(number, held, rows, options.adopt().contains("batch"));
        phases.end("plan");
        return receipt(number, true, tally, phases);
    }

    private Verdict verdict(LedgerRecord last) {
        if (last != null
                && last.terms().lineage().equals(terms.lineage())
                && last.terms().generation() > terms.generation()) {
            throw Refusal.of(
                    "writer-fenced",
                    "another driver has adopted this checkpoint since the query was started",
                    "the ledger is in generation " + last.terms().generation()
                            + ", and this driver in " + terms.generation() + ".",
                    "find the other driver; stop it before you start this one again.");
        }
        return Verdict.on(terms, last, options.adopt(), LedgerKind.SINK);
    }

    private Receipt receipt(int number, boolean isHeld, Tally tally, Phases phases) {
        Map<String, Double> named = new LinkedHashMap<>();
        phases.millis().forEach((phase, ms) -> named.put(name() + "." + phase, ms));
        return new Receipt(number, isHeld, tally.rows(), named);
    }

    private String name() {
        return options.sinks().get(place).name();
    }

    private void reach(String point) {
        Failpoint.reach(options.sinks().get(place).system(), point);
    }
}
