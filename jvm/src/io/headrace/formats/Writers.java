package io.headrace.formats;

import java.util.HashMap;
import java.util.Map;

/**
 * What a reader has made of each writer's schema, by the id in the wire header.
 *
 * <p>Refusals are kept as well: a topic full of values with an unknown id must not ask the registry
 * for each. They are kept as long as the reader, which is one task, so the next batch asks again.
 *
 * @param <T> what is made of a schema
 */
final class Writers<T> {
    /** Ids made up by broken bytes are without number. */
    private static final int MOST_REFUSALS = 10_000;

    private final Registry registry;
    private final String type;
    private final Making<T> making;
    private final Map<Integer, T> made = new HashMap<>();
    private final Map<Integer, Unreadable> refused = new HashMap<>();

    /** Makes what a reader needs of a schema, or says why it cannot. */
    interface Making<T> {
        T of(RegisteredSchema schema) throws Unreadable;
    }

    Writers(Registry registry, String type, Making<T> making) {
        this.registry = registry;
        this.type = type;
        this.making = making;
    }

    /** What was made of the schema that a value's header names. */
    T of(byte[] value) throws Unreadable {
        int id = WireHeader.id(value);
        T known = made.get(id);
        return known != null ? known : make(id);
    }

    private T make(int id) throws Unreadable {
        Unreadable before = refused.get(id);
        if (before != null) {
            throw before;
        }
        try {
            T fresh = making.of(registry.schema(id).require(type));
            made.put(id, fresh);
            return fresh;
        } catch (Unreadable e) {
            if (refused.size() < MOST_REFUSALS) {
                refused.put(id, e);
            }
            throw e;
        }
    }
}
