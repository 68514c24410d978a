package io.headrace.delivery;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.executor.CommitDeniedException;
import org.apache.spark.sql.Row;

/**
 * Writes one lane's part of a batch, in a task on an executor, unless the ledger holds it.
 *
 * <p>Gives one receipt as JSON. Refusals are results too: an exception would have Spark run the
 * task again.
 */
abstract class LaneTask
        implements MapPartitionsFunction<Row, String>, FlatMapFunction<Iterator<Row>, String> {
    private static final long serialVersionUID = 1L;

    protected final BatchTerms terms;

    LaneTask(BatchTerms terms) {
        this.terms = terms;
    }

    /** Delivers the rows of the task's lane. */
    protected abstract Receipt deliver(TaskContext task, Iterator<Row> rows)
            throws CommitDeniedException;

    /** Whether the driver is to hear of a refusal, or Spark, which then tries again by itself. */
    protected abstract boolean isResult(Refusal refusal);

    /** How many sinks the query has. */
    protected abstract int sinks();

    /**
     * Runs a task for each lane of the rows of some sinks, and gives their receipts.
     */
    final List<Receipt> run(OutgoingBatch batch, List<Integer> places) {
        List<String> told = batch.inLanes(places, terms.lanes(), this);
        // A plan that Spark knows to be empty has no tasks; the ledger wants its records.
        return told.isEmpty() ? runEmpty() : heard(told);
    }

    /** Does the same for a batch without rows, which needs no plan. */
    final List<Receipt> runEmpty() {
        return heard(
                new JavaSparkContext(SparkContext.getOrCreate())
                        .parallelize(new ArrayList<Row>(), terms.lanes())
                        .mapPartitions(this)
                        .collect());
    }

    private List<Receipt> heard(List<String> told) {
        List<Receipt> receipts = Receipts.parse(told);
        if (receipts.size() != terms.lanes()) {
            throw new IllegalStateException(
                    receipts.size() + " receipts from " + terms.lanes() + " lanes");
        }
        return receipts;
    }

    @Override
    public final Iterator<String> call(Iterator<Row> rows) throws CommitDeniedException {
        TaskContext task = TaskContext.get();
        if (task.numPartitions() != terms.lanes()) {
            if (rows.hasNext()) {
                throw new IllegalStateException(
                        task.numPartitions() + " tasks for " + terms.lanes() + " lanes");
            }
            // Spark may plan a batch without rows as it likes; the driver sees that lanes lack.
            return Collections.emptyIterator();
        }
        try {
            return Collections.singleton(deliver(task, rows).toJson()).iterator();
        } catch (Refusal refusal) {
            if (isResult(refusal)) {
                return Collections.singleton(Receipt.refused(refusal)).iterator();
            }
            throw refusal;
        }
    }

    /** Reads the rows of a part that is in the output already, and writes nothing. */
    final Tally readHeld(int number, LedgerRecord held, Iterator<Row> rows, boolean isAdopted) {
        Tally tally = new Tally(sinks());
        rows.forEachRemaining(tally::add);
        // With one lane, the evaluation that was committed counts as a whole. With several, the
        // other lanes may be written from this one.
        boolean isComparable =
                terms.lanes() > 1
                        && held.terms().batch() == terms.batch()
                        && held.checksum() != null
                        && !isAdopted;
        if (isComparable && held.checksum() != tally.checksum()) {
            throw Refusal.of(
                    "batch-not-deterministic",
                    "batch " + terms.batch() + " gave other rows when it was run again",
                    "lane " + number + " holds " + held.rows() + " rows, and " + tally.total()
                            + " with another checksum came now.",
                    "take random values and the current time out of the steps, or use one lane; "
                            + "to keep what the lane holds, start once with adopt=\"batch\".");
        }
        return tally;
    }
}
