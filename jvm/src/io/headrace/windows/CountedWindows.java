package io.headrace.windows;

import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import io.headrace.windows.Held.Bounds;
import io.headrace.windows.PaneRows.Kind;

/**
 * Windows that are full after a number of events of their key, whatever their times.
 *
 * <p>State: for each key what the events of the window that is being filled come to; nothing clears
 * it. Late events: there are none. After a restart: goes on from the last committed batch.
 */
final class CountedWindows extends HeldProcessor {
    private static final long serialVersionUID = 1L;

    private transient Held filling;

    CountedWindows(WindowTerms terms, Aggregation aggregation, Parcel parcel) {
        super(terms, aggregation, parcel);
    }

    @Override
    void open() {
        super.open();
        filling = windows.all().stream().findFirst().orElseGet(() -> next(1));
    }

    @Override
    void pass(long watermark, PaneRows out) {
        // Time fills no window.
    }

    @Override
    boolean take(Arrivals.Arrival event, long watermark, PaneRows out) {
        gather(filling, event);
        filling.span = with(filling.span, event.at());
        if (filling.span.events() == terms.count()) {
            fire(filling, Kind.ON_TIME, out);
            windows.remove(filling);
            filling = next(filling.start + 1);
        } else {
            fireEarly(filling, out);
        }
        return true;
    }

    @Override
    Bounds bounds(Held held) {
        boolean isTimed = held.span.first() != Arrivals.NO_TIME;
        return isTimed ? new Bounds(held.span.first(), held.span.last()) : Bounds.NONE;
    }

    @Override
    String place(Held held) {
        return Long.toString(held.start);
    }

    /** Counts an event in; one without a time does not bound its window. */
    private static Held.Span with(Held.Span span, long at) {
        if (span == null) {
            return new Held.Span(1, at, at);
        }
        boolean isFirst = span.first() == Arrivals.NO_TIME;
        long first = at == Arrivals.NO_TIME ? span.first() : Math.min(span.first(), at);
        return new Held.Span(
                span.events() + 1, isFirst ? at : first, Math.max(span.last(), at));
    }

    private Held next(long number) {
        Held held = new Held(number, Long.MAX_VALUE, evaluator.fresh());
        windows.add(held);
        return held;
    }
}
