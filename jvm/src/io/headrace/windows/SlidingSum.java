package io.headrace.windows;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * The sum over a window that moves along its events: they enter at one end and leave at the other.
 *
 * <p>Most aggregates cannot take an event out again. So those that will leave first are kept as
 * sums of what is behind each of them, and the newer ones as one sum; each event is added twice,
 * whatever the window's length.
 */
final class SlidingSum {
    private final Evaluator evaluator;
    private final Function<Slid, InternalRow> row;

    private final Deque<Older> older = new ArrayDeque<>();
    private final List<Slid> newer = new ArrayList<>();
    private Buffer newerSum;

    /** An event's time, and the sum of it and those behind it, up to the newer ones. */
    private record Older(long at, byte[] sum) {}

    SlidingSum(Evaluator evaluator, Function<Slid, InternalRow> row) {
        this.evaluator = evaluator;
        this.row = row;
        this.newerSum = evaluator.fresh();
    }

    void enter(Slid event) {
        newer.add(event);
        evaluator.update(newerSum, row.apply(event));
    }

    /** Lets the events up to a time leave. */
    void leave(long time) {
        while (true) {
            if (older.isEmpty()) {
                if (newer.isEmpty() || newer.get(0).event.at() > time) {
                    return;
                }
                turn();
            }
            if (older.peek().at() > time) {
                return;
            }
            older.pop();
        }
    }

    byte[] result() {
        if (older.isEmpty()) {
            return evaluator.result(newerSum);
        }
        Buffer whole = evaluator.load(older.peek().sum());
        if (!newer.isEmpty()) {
            evaluator.merge(whole, evaluator.load(evaluator.store(newerSum)));
        }
        return evaluator.result(whole);
    }

    /** Makes the newer events the older ones. */
    private void turn() {
        Buffer sum = evaluator.fresh();
        for (int i = newer.size() - 1; i >= 0; i--) {
            evaluator.update(sum, row.apply(newer.get(i)));
            older.push(new Older(newer.get(i).event.at(), evaluator.store(sum)));
        }
        newer.clear();
        newerSum = evaluator.fresh();
    }
}
