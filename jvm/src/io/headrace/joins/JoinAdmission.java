package io.headrace.joins;

import io.headrace.batches.RunningBatch;
import io.headrace.batches.Tallies;
import io.headrace.batches.Tallies.Tally;
import java.io.Serializable;

/**
 * Lets the rows of a side pass that are not late and have a key, and counts them all.
 *
 * <p>It is a condition, and not a deterministic one, so Spark's optimizer neither copies it nor moves
 * it to where rows are not read yet. Public, as the code that Spark generates calls it.
 */
public final class JoinAdmission implements Serializable {
    static final long NO_TIME = Long.MIN_VALUE;
    private static final long serialVersionUID = 1L;
    private static final long MICROS = 1000;

    private final String name;
    private final RunningBatch batch;
    private final Tallies tallies;

    private transient Tally tally;
    private transient long watermark;

    JoinAdmission(String name, RunningBatch batch, Tallies tallies) {
        this.name = name;
        this.batch = batch;
        this.tallies = tallies;
        batch.isOf(this);
    }

    /**
     * Judges a row.
     *
     * @param isDead whether it is a dead letter
     * @param hasKey whether no column of its key is null
     * @param time its event time in microseconds, or the least number for none
     * @param partition the partition that the task reads
     * @return whether it may have partners
     */
    public boolean admits(boolean isDead, boolean hasKey, long time, int partition) {
        if (tally == null) {
            watermark = batch.watermark() * MICROS;
            tally = tallies.begin(partition);
        }
        if (isDead) {
            tally.dead();
            return false;
        }
        if (time == NO_TIME || time < watermark) {
            tally.late();
            return false;
        }
        tally.onTime();
        return hasKey;
    }

    @Override
    public String toString() {
        return name;
    }
}
