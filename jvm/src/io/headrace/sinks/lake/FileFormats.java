package io.headrace.sinks.lake;

import java.util.Map;

/** How Spark is to write and read files of a format, so that what comes back is what went in. */
final class FileFormats {
    private static final Map<String, String> JSON =
            Map.of(
                    // The defaults end with milliseconds, and leave out what is null.
                    "timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
                    "timestampNTZFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
                    "ignoreNullFields", "false");

    private FileFormats() {}

    static Map<String, String> options(String format) {
        return format.equals("json") ? JSON : Map.of();
    }
}
