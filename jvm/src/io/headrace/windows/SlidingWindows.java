package io.headrace.windows;

import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import io.headrace.windows.Held.Bounds;
import io.headrace.windows.Held.Standing;
import io.headrace.windows.PaneRows.Kind;
import io.headrace.windows.PaneRows.Label;
import io.headrace.windows.WindowTerms.Panes;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;

/**
 * A window for each event: what happened to its key in the time before it.
 *
 * <p>State: the events of each key, until the watermark has passed the window's length and the time
 * in which panes are corrected beyond them and the key has another event, or beyond the last of
 * them and half the length to two and a half lengths more. Late events: those that the watermark
 * had passed by more than that time when they came. After a restart: goes on from the last
 * committed batch.
 */
final class SlidingWindows extends WindowProcessor {
    private static final long serialVersionUID = 1L;

    /** How much later than it could a silent key forgets at the least, in halves of a length. */
    private static final int SOONEST = 1;

    /** And at the most. */
    private static final int LATEST = 5;

    /** Of how many moments between those each key has one. */
    private static final int TURNS = 4096;

    private transient SlidEvents state;
    private transient TreeSet<Slid> events;

    /** Which of the moments is the key's. */
    private transient int turn;

    SlidingWindows(WindowTerms terms, Aggregation aggregation, Parcel parcel) {
        super(terms, aggregation, parcel);
    }

    @Override
    void openState() {
        state = new SlidEvents(getHandle(), terms.name(), arrivals);
    }

    @Override
    void hear(byte[] key) {
        turn = Math.floorMod(Parcel.hashOf(key), TURNS);
    }

    @Override
    void open() {
        events = state.open();
    }

    @Override
    void pass(long watermark, PaneRows out) {
        List<Slid> due = new ArrayList<>();
        for (Slid slid : events) {
            if (slid.event.at() > watermark) {
                break;
            }
            if (!slid.onTime) {
                due.add(slid);
            }
        }
        fire(due, Kind.ON_TIME, out);
        due.forEach(slid -> slid.onTime = true);
    }

    @Override
    boolean take(Arrivals.Arrival event, long watermark, PaneRows out) {
        if (plus(event.at(), terms.allowed()) <= watermark) {
            return false;
        }
        Slid slid = new Slid(event, 0);
        while (!events.add(slid)) {
            slid = new Slid(event, slid.copy + 1);
        }
        if (event.at() <= watermark) {
            slid.onTime = true;
            slid.marked = true;
            markThoseBehind(slid);
        } else if (terms.earlyEvents() > 0) {
            fire(List.of(slid), Kind.EARLY, out);
        }
        return true;
    }

    @Override
    void correct(PaneRows out) {
        List<Slid> marked = events.stream().filter(slid -> slid.marked).toList();
        fire(marked, Kind.LATE, out);
        marked.forEach(slid -> slid.marked = false);
    }

    @Override
    void store(long watermark) {
        forget(watermark);
        long next = events.isEmpty() ? Long.MAX_VALUE : forgotten(events.last());
        for (Slid slid : events) {
            if (!slid.onTime) {
                next = Math.min(next, slid.event.at());
            }
        }
        state.store(next, watermark, this::alarm);
    }

    /**
     * When to look for events of a key that has fallen silent, the given one being its last; while
     * it has events, it forgets with each of them. A little later than need be: a key that goes on
     * after a while needs no timer. Each key waits for a time of its own: where a crowd of keys
     * begins together, all would look together as well, and do so again and again.
     */
    private long forgotten(Slid last) {
        long half = Math.max(1, terms.size() / 2);
        long spread = half * (LATEST - SOONEST) / TURNS * turn;
        return plus(endOf(last), plus(half * SOONEST, spread));
    }

    private long endOf(Slid slid) {
        return plus(plus(slid.event.at(), terms.size()), terms.allowed());
    }

    private void markThoseBehind(Slid slid) {
        for (Slid behind : events.tailSet(slid, false)) {
            if (behind.event.at() >= plus(slid.event.at(), terms.size())) {
                return;
            }
            behind.marked |= behind.onTime;
        }
    }

    private void forget(long watermark) {
        while (!events.isEmpty()) {
            if (endOf(events.first()) > watermark) {
                return;
            }
            events.pollFirst();
        }
    }

    /** Fires panes of events that are in order. */
    private void fire(List<Slid> wanted, Kind kind, PaneRows out) {
        if (wanted.isEmpty()) {
            return;
        }
        SlidingSum sum = new SlidingSum(evaluator, slid -> row(slid.event));
        Iterator<Slid> entering = inWindow(wanted.get(0)).iterator();
        Slid next = entering.next();
        for (Slid slid : wanted) {
            while (next != null && Slid.ORDER.compare(next, slid) <= 0) {
                sum.enter(next);
                next = entering.hasNext() ? entering.next() : null;
            }
            sum.leave(slid.event.at() - terms.size());
            fire(slid, sum.result(), kind, out);
        }
    }

    /** Gives the events from the beginning of an event's window on. */
    private NavigableSet<Slid> inWindow(Slid slid) {
        long before = slid.event.at() - terms.size();
        Slid first = slid;
        for (Slid earlier : events.headSet(slid, false).descendingSet()) {
            if (earlier.event.at() <= before) {
                break;
            }
            first = earlier;
        }
        return events.tailSet(first, true);
    }

    private void fire(Slid slid, byte[] result, Kind kind, PaneRows out) {
        boolean isWanted = isWanted(result);
        Standing pane = slid.standing;
        if (pane != null && (terms.panes() == Panes.RETRACTING || !isWanted)) {
            Label label = new Label(pane.bounds(), slid.place(), kind, pane.number());
            out.pane(label, pane.result(), true);
            slid.standing = null;
        }
        if (isWanted) {
            slid.number++;
            Bounds bounds = new Bounds(slid.event.at() - terms.size(), slid.event.at());
            out.pane(new Label(bounds, slid.place(), kind, slid.number), result, false);
            if (terms.keepsStanding()) {
                slid.standing = new Standing(result, slid.number, bounds);
            }
        }
        slid.changed = true;
    }
}
