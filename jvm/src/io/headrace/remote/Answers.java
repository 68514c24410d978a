package io.headrace.remote;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The answers that a process keeps for some time: rows, and that there is none.
 *
 * <p>The tasks of one join share them. When there are too many, the one goes that was asked for
 * longest ago.
 */
final class Answers {
    private static final Map<String, Answers> KNOWN = new LastFew();

    private final long freshNanos;
    private final Map<String, Answer> kept;

    private record Answer(Optional<byte[]> row, long since) {}

    /** The joins of runs that are over go when others have come. */
    private static final class LastFew extends LinkedHashMap<String, Answers> {
        private static final long serialVersionUID = 1L;
        private static final int FEW = 16;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Answers> eldest) {
            return size() > FEW;
        }
    }

    private Answers(int most, long freshMs) {
        this.freshNanos = freshMs * 1_000_000;
        this.kept =
                new LinkedHashMap<>(16, 0.75f, true) {
                    private static final long serialVersionUID = 1L;

                    @Override
                    protected boolean removeEldestEntry(Map.Entry<String, Answer> eldest) {
                        return size() > most;
                    }
                };
    }

    /** The answers of a join, for this process. */
    static Answers of(RemoteTerms terms) {
        synchronized (KNOWN) {
            return KNOWN.computeIfAbsent(
                    terms.run() + "/" + terms.name(),
                    name -> new Answers(terms.cached(), terms.freshMs()));
        }
    }

    /** Gives what is known of some keys and fresh; nothing of the others. */
    synchronized Map<String, Optional<byte[]>> known(Iterable<String> keys) {
        Map<String, Optional<byte[]>> found = new HashMap<>();
        long now = System.nanoTime();
        for (String key : keys) {
            Answer answer = kept.get(key);
            if (answer != null && now - answer.since < freshNanos) {
                found.put(key, answer.row);
            }
        }
        return found;
    }

    synchronized void keep(Map<String, Optional<byte[]>> answers) {
        long now = System.nanoTime();
        answers.forEach((key, row) -> kept.put(key, new Answer(row, now)));
    }
}
