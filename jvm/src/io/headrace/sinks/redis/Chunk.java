package io.headrace.sinks.redis;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/** Some changes in one script call: few enough that Redis is back to its readers soon. */
final class Chunk {
    private static final int MOST_ROWS = 2_000;
    private static final int MOST_BYTES = 1024 * 1024;

    private static final byte[] END = ascii("-1");
    private static final byte[] ONE = ascii("1");

    private final List<byte[]> keys = new ArrayList<>();
    private final List<byte[]> arguments = new ArrayList<>();

    private Chunk() {}

    /**
     * Takes changes off a list, until there are enough.
     *
     * @param lane the lane that writes them
     * @param token by which Redis knows its owner
     */
    static Chunk of(
            Iterator<Changes.Change> changes, RedisTerms terms, byte[] lane, byte[] token) {
        Chunk chunk = new Chunk();
        byte[] prefix = terms.prefix();
        boolean isHash = terms.isHash();
        boolean isGuarded = terms.version() != null;
        chunk.keys.add(terms.ledger());
        chunk.arguments.add(lane);
        chunk.arguments.add(token);
        chunk.arguments.add(ascii(isHash ? "hash" : "json"));
        chunk.arguments.add(ascii(Long.toString(terms.ttlMs())));
        chunk.arguments.add(isGuarded ? utf8(terms.version()) : new byte[0]);
        long bytes = 0;
        while (changes.hasNext() && chunk.keys.size() <= MOST_ROWS && bytes < MOST_BYTES) {
            Changes.Change change = changes.next();
            chunk.add(change, joined(prefix, change.key()), isHash, isGuarded);
            bytes += change.key().length + (change.value() == null ? 0 : change.value().length);
        }
        return chunk;
    }

    List<byte[]> keys() {
        return keys;
    }

    List<byte[]> arguments() {
        return arguments;
    }

    private void add(Changes.Change change, byte[] key, boolean isHash, boolean isGuarded) {
        keys.add(key);
        if (change.value() == null) {
            arguments.add(END);
            return;
        }
        int place = arguments.size();
        arguments.add(ONE);
        if (isGuarded) {
            String sign = change.isFresh() ? "=" : ">";
            arguments.add(utf8(sign + change.version()));
        }
        if (isHash) {
            int parts = RowFields.addTo(arguments, change.value());
            arguments.set(place, ascii(Integer.toString(parts)));
        } else {
            arguments.add(change.value());
        }
    }

    private static byte[] joined(byte[] prefix, byte[] key) {
        byte[] whole = new byte[prefix.length + key.length];
        System.arraycopy(prefix, 0, whole, 0, prefix.length);
        System.arraycopy(key, 0, whole, prefix.length, key.length);
        return whole;
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
