package io.headrace.joins;

import java.io.Serializable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** The rows of a table by their keys, as they were at one moment; all of them bytes. */
final class TableCopy implements Serializable {
    private static final long serialVersionUID = 1L;

    private final byte[][] keys;
    private final byte[][] rows;
    private transient volatile Map<Key, byte[]> found;

    /** Bytes that are equal if their content is. */
    record Key(byte[] bytes) {
        @Override
        public boolean equals(Object other) {
            return other instanceof Key && Arrays.equals(bytes, ((Key) other).bytes);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(bytes);
        }
    }

    TableCopy(Map<Key, byte[]> table) {
        this.keys = new byte[table.size()][];
        this.rows = new byte[table.size()][];
        int place = 0;
        for (Map.Entry<Key, byte[]> entry : table.entrySet()) {
            keys[place] = entry.getKey().bytes();
            rows[place++] = entry.getValue();
        }
    }

    /** Gives the row of a key, or null. */
    byte[] find(byte[] key) {
        Map<Key, byte[]> known = found;
        return (known == null ? sorted() : known).get(new Key(key));
    }

    /** All tasks of a process share one copy; the first to ask puts it in order. */
    private synchronized Map<Key, byte[]> sorted() {
        if (found == null) {
            Map<Key, byte[]> made = new HashMap<>(keys.length * 2);
            for (int i = 0; i < keys.length; i++) {
                made.put(new Key(keys[i]), rows[i]);
            }
            found = made;
        }
        return found;
    }
}
