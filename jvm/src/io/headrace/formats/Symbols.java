package io.headrace.formats;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/** The symbols of an enumeration. */
final class Symbols {
    private static final int MOST_SHOWN = 10;

    private final Map<String, UTF8String> known = new HashMap<>();
    private final String required;

    Symbols(List<String> symbols) {
        symbols.forEach(symbol -> known.put(symbol, UTF8String.fromString(symbol)));
        String shown = String.join(", ", symbols.subList(0, Math.min(symbols.size(), MOST_SHOWN)));
        required = "one of " + shown + (symbols.size() > MOST_SHOWN ? ", …" : "");
    }

    UTF8String of(String symbol) throws Unreadable {
        UTF8String text = known.get(symbol);
        if (text == null) {
            throw new Unreadable(
                    Reason.ENUM_UNKNOWN,
                    required + " is required, " + Shown.quoted(symbol) + " came");
        }
        return text;
    }
}
