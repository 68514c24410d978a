package io.headrace.windows;

import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import io.headrace.windows.Held.Bounds;
import io.headrace.windows.Held.Standing;
import io.headrace.windows.PaneRows.Kind;
import io.headrace.windows.PaneRows.Label;
import io.headrace.windows.WindowTerms.Panes;

/** Windows that hold the sum of their events, and not the events: all but the sliding ones. */
abstract class HeldProcessor extends WindowProcessor {
    private static final long serialVersionUID = 1L;

    protected transient HeldWindows windows;

    HeldProcessor(WindowTerms terms, Aggregation aggregation, Parcel parcel) {
        super(terms, aggregation, parcel);
    }

    @Override
    void openState() {
        windows =
                isScattered()
                        ? new ScatteredWindows(getHandle(), terms.name(), evaluator)
                        : new GatheredWindows(getHandle(), terms.name(), evaluator);
    }

    /** Whether a key has so many windows at a time that they are kept one by one. */
    protected boolean isScattered() {
        return false;
    }

    @Override
    void open() {
        windows.open();
    }

    @Override
    void pass(long watermark, PaneRows out) {
        for (Held held : windows.all()) {
            fireDue(held, watermark, out);
        }
    }

    @Override
    void correct(PaneRows out) {
        for (Held held : windows.marked()) {
            held.marked = false;
            fire(held, Kind.LATE, out);
        }
    }

    @Override
    void store(long watermark) {
        windows.store(this::nextMoment, this::alarm);
    }

    /** What a pane tells of its window's bounds. */
    Bounds bounds(Held held) {
        return new Bounds(held.start, held.end);
    }

    /** What a window is called by, where that is not its bounds. */
    String place(Held held) {
        return null;
    }

    /** Counts an event in. */
    protected void gather(Held held, Arrivals.Arrival event) {
        evaluator.update(held.buffer, row(event));
        held.pending++;
        held.changed = true;
    }

    /** Fires early if enough events have come since the last pane. */
    protected void fireEarly(Held held, PaneRows out) {
        if (terms.earlyEvents() > 0 && held.pending >= terms.earlyEvents()) {
            fire(held, Kind.EARLY, out);
        }
    }

    /** Fires what the watermark has made due, and forgets what can change no more. */
    protected void fireDue(Held held, long watermark, PaneRows out) {
        if (!held.onTime) {
            if (held.end <= watermark) {
                fire(held, Kind.ON_TIME, out);
                held.onTime = true;
            } else {
                lookAtMarks(held, watermark, out);
            }
        }
        if (isExpired(held.end, watermark)) {
            windows.remove(held);
        }
    }

    /** How many marks of an early firing by time lie at or before a watermark. */
    protected long marks(long start, long watermark) {
        return terms.earlyTime() == 0
                ? 0
                : Math.max(0, Math.floorDiv(watermark - start, terms.earlyTime()));
    }

    private void lookAtMarks(Held held, long watermark, PaneRows out) {
        long passed = marks(held.start, watermark);
        if (passed > held.mark) {
            held.mark = passed;
            held.changed = true;
            if (held.pending > 0) {
                fire(held, Kind.EARLY, out);
            }
        }
    }

    /** When the watermark changes something about a window next. */
    private long nextMoment(Held held) {
        if (held.onTime) {
            return plus(held.end, terms.allowed());
        }
        if (terms.earlyTime() > 0 && held.pending > 0) {
            return Math.min(held.end, held.start + (held.mark + 1) * terms.earlyTime());
        }
        return held.end;
    }

    protected void fire(Held held, Kind kind, PaneRows out) {
        // A part of a key gives what it has gathered, for the parts to be put together.
        boolean isPart = terms.spread() > 0;
        held.wasOnTime |= kind != Kind.EARLY;
        byte[] result = isPart ? evaluator.store(held.buffer) : evaluator.result(held.buffer);
        boolean isWanted = isPart || isWanted(result);
        if (terms.panes() == Panes.RETRACTING || !isWanted) {
            takeBack(held, kind, out);
        }
        if (isWanted) {
            held.number++;
            Label label = new Label(bounds(held), place(held), kind, held.number);
            out.pane(label, result, false);
            if (terms.keepsStanding()) {
                held.standing = new Standing(result, held.number, label.bounds());
            }
        }
        if (terms.panes() == Panes.DISCARDING) {
            held.buffer = evaluator.fresh();
        }
        held.pending = 0;
        held.changed = true;
    }

    /** Gives the pane that stands once more, as one that holds no longer. */
    protected void takeBack(Held held, Kind kind, PaneRows out) {
        if (held.standing != null) {
            Standing pane = held.standing;
            Label label = new Label(pane.bounds(), place(held), kind, pane.number());
            out.pane(label, pane.result(), true);
            held.standing = null;
            held.changed = true;
        }
    }
}
