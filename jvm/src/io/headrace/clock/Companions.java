package io.headrace.clock;

import java.lang.ref.WeakReference;
import java.util.HashSet;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The clocks of one query, which hear of each other.
 *
 * <p>Spark takes the least of their watermarks. A source in which all is silent has nothing to say
 * of time, and must not hold the others for ever: its clock goes where they go.
 */
final class Companions {
    private static final Map<String, WeakReference<Companions>> GROUPS = new ConcurrentHashMap<>();

    private final Map<String, Said> said = new ConcurrentHashMap<>();
    private final Set<String> heard = new HashSet<>();

    private Companions() {}

    private record Said(long watermark, boolean isAsleep) {}

    /** Gives those of a group; they live as long as a clock of it. */
    static synchronized Companions of(String group) {
        GROUPS.values().removeIf(known -> known.get() == null);
        WeakReference<Companions> known = GROUPS.get(group);
        Companions found = known == null ? null : known.get();
        if (found == null) {
            found = new Companions();
            GROUPS.put(group, new WeakReference<>(found));
        }
        return found;
    }

    /** Counts a clock that has not said anything yet. */
    void join(String name) {
        said.put(name, new Said(0, false));
    }

    /**
     * Tells the others.
     *
     * @return where all of them have come to, once each has spoken of the same batch
     */
    synchronized OptionalLong say(String name, long watermark, boolean isAsleep) {
        said.put(name, new Said(watermark, isAsleep));
        if (!heard.add(name)) {
            // Not all were asked the last time: this one begins another round.
            heard.clear();
            heard.add(name);
        }
        if (heard.size() < said.size()) {
            return OptionalLong.empty();
        }
        heard.clear();
        return OptionalLong.of(followed());
    }

    /** How many clocks there are. */
    int count() {
        return said.size();
    }

    /** Where a sleeping clock goes: with the least that is awake; with the greatest if none is. */
    long followed() {
        OptionalLong awake =
                said.values().stream().filter(s -> !s.isAsleep()).mapToLong(Said::watermark).min();
        return awake.orElseGet(
                () -> said.values().stream().mapToLong(Said::watermark).max().orElse(0));
    }
}
