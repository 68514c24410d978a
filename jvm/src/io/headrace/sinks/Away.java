package io.headrace.sinks;

/** A server that does not answer, or asks to be left alone for a while. */
public final class Away extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Says why, in a sentence without a full stop that holds no secret. */
    public Away(String reason, Throwable cause) {
        super(reason, cause);
    }
}
