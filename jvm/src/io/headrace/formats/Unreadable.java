package io.headrace.formats;

/**
 * One value cannot be read, for a reason a dead letter can name.
 *
 * <p>It is thrown where the fault is found and learns the way to that place while it passes through
 * the readers above, so that reading a good value costs nothing for it.
 */
class Unreadable extends Exception {
    private static final long serialVersionUID = 1L;
    private static final int LONGEST_DETAIL = 300;

    private final Reason reason;
    private final String what;
    private String path = "";

    Unreadable(Reason reason, String what) {
        // A topic full of unreadable values must not cost a stack trace each.
        super(what, null, false, false);
        this.reason = reason;
        this.what = what;
    }

    /** Notes that the fault lies in a field of this name. */
    Unreadable inField(String name) {
        path = path.isEmpty() || path.startsWith("[") ? name + path : name + "." + path;
        return this;
    }

    /** Notes that the fault lies in the element of this position. */
    Unreadable inElement(int index) {
        path = "[" + index + "]" + (path.isEmpty() || path.startsWith("[") ? path : "." + path);
        return this;
    }

    /** Whether the fault lies in the field of this name, or deeper. */
    boolean isWithin(String name) {
        return path.equals(name) || path.startsWith(name + ".") || path.startsWith(name + "[");
    }

    Reason reason() {
        return reason;
    }

    /** One line: the field's path and what is the case there. */
    String detail() {
        return Shown.line(path.isEmpty() ? what : path + ": " + what, LONGEST_DETAIL);
    }
}
