package io.headrace.windows;

import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import io.headrace.windows.PaneRows.Kind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Windows of activity: events that lie closer together than a gap share one, and an event between
 * two of them makes them one.
 *
 * <p>State: for each key and session what its events come to, until the watermark has passed the
 * gap after its last event and the time in which it is corrected. Late events: those that are too
 * old to begin a session and touch none that is held. After a restart: goes on from the last
 * committed batch.
 */
final class SessionWindows extends HeldProcessor {
    private static final long serialVersionUID = 1L;

    SessionWindows(WindowTerms terms, Aggregation aggregation, Parcel parcel) {
        super(terms, aggregation, parcel);
    }

    @Override
    boolean take(Arrivals.Arrival event, long watermark, PaneRows out) {
        long start = event.at();
        long end = plus(event.at(), terms.gap());
        List<Held> touched = new ArrayList<>();
        for (Held held : windows.all()) {
            if (event.at() < held.end && held.start < plus(event.at(), terms.gap())) {
                touched.add(held);
                start = Math.min(start, held.start);
                end = Math.max(end, held.end);
            }
        }
        if (isExpired(end, watermark)) {
            return false;
        }
        touched.sort(Comparator.comparingLong(held -> held.start));
        Held held = merged(touched, start, end, watermark, out);
        gather(held, event);
        if (end <= watermark) {
            held.onTime = true;
            held.marked = true;
        } else {
            fireEarly(held, out);
        }
        return true;
    }

    /** Makes one session of those that an event touches; a single one that grows is one, too. */
    private Held merged(
            List<Held> touched, long start, long end, long watermark, PaneRows out) {
        if (touched.size() == 1 && touched.get(0).start == start && touched.get(0).end == end) {
            return touched.get(0);
        }
        Held made = new Held(start, end, evaluator.fresh());
        made.mark = marks(start, watermark);
        made.wasOnTime = touched.stream().anyMatch(held -> held.wasOnTime);
        for (Held old : touched) {
            if (old.start == start) {
                made.standing = old.standing;
            } else {
                takeBack(old, made.wasOnTime ? Kind.LATE : Kind.EARLY, out);
            }
            evaluator.merge(made.buffer, old.buffer);
            made.pending += old.pending;
            made.number = Math.max(made.number, old.number);
            windows.remove(old);
        }
        windows.add(made);
        return made;
    }
}
