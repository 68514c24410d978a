package io.headrace.delivery;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * A named reason not to go on.
 *
 * <p>Its message is a mark and one line of JSON, so that it is found in whatever text Spark wraps
 * around it, and becomes an error of the same name in Python.
 */
public final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private static final String MARK = "headrace-refusal ";

    private final String slug;
    private final boolean isFinal;

    private Refusal(String slug, boolean isFinal, String message, Throwable cause) {
        super(message, cause);
        this.slug = slug;
        this.isFinal = isFinal;
    }

    /**
     * A refusal that no further attempt would change.
     *
     * @param slug the stable name, a page in the documentation
     * @param fact what is the case, in lower case, without a full stop
     * @param detail why it is so, or what was found
     * @param hint what the user can do next
     */
    public static Refusal of(String slug, String fact, String detail, String hint) {
        return new Refusal(slug, true, message("DeliveryError", slug, fact, detail, hint), null);
    }

    /** A failure that another attempt may settle. */
    public static Refusal passing(Throwable cause, String slug, String fact, String detail, String hint) {
        String message = message("DeliveryError", slug, fact, detail, hint);
        return new Refusal(slug, false, message, cause);
    }

    /** The same as a failure that another attempt may settle. */
    public Refusal passing() {
        return new Refusal(slug, false, getMessage(), this);
    }

    /** A refusal that concerns the log itself and not delivery. */
    static Refusal ofLog(String slug, String fact, String detail, String hint) {
        return new Refusal(slug, true, message("LogError", slug, fact, detail, hint), null);
    }

    /** Brings a refusal back that a task reported as its result. */
    static Refusal received(String slug, String message, boolean isFinal) {
        return new Refusal(slug, isFinal, message, null);
    }

    /** The same, with the output in its detail: a pipeline may have several sinks. */
    Refusal about(Sink sink) {
        ObjectNode told = (ObjectNode) Json.read(getMessage().substring(MARK.length()));
        told.put(
                "detail",
                "output \"" + sink.name() + "\" (" + sink.system() + "): "
                        + told.get("detail").asText());
        return new Refusal(slug, isFinal, MARK + told, this);
    }

    public String slug() {
        return slug;
    }

    /** Whether another attempt would end the same way, or would disturb another writer. */
    boolean isFinal() {
        return isFinal;
    }

    private static String message(
            String error, String slug, String fact, String detail, String hint) {
        JsonNode told =
                Json.object()
                        .put("error", error)
                        .put("slug", slug)
                        .put("fact", fact)
                        .put("detail", detail)
                        .put("hint", hint);
        return MARK + told;
    }
}
