package io.headrace.formats;

/** Faults of what a pipeline itself has made. */
final class Payloads {
    private Payloads() {}

    /** Not a dead letter: no input is at fault, and every batch would fail alike. */
    static FormatFailure unfit(String detail) {
        return new FormatFailure(
                "payload-unfit",
                "an output event does not fit the schema it is written by",
                detail,
                "filter such events out before the sink, or make the field optional.");
    }
}
