package io.headrace.delivery;

import java.io.Serializable;
import java.util.Map;

/**
 * A sink as it was declared.
 *
 * @param pipeline whose sink it is
 * @param name the output's name; with the pipeline's, it names the sink in its own ledger
 * @param system what it writes to, such as {@code redis}
 * @param settings what the system's own classes read; no secret is among them
 */
public record SinkTerms(
        String pipeline, String name, String system, Map<String, String> settings)
        implements Serializable {}
