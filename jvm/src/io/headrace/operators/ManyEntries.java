package io.headrace.operators;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.CompositeKeyStateEncoder;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statevariables.MapStateImpl;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.streaming.MapState;
import scala.collection.Iterator;

/**
 * Reads many entries of a map of bytes at once.
 *
 * <p>RocksDB answers that an entry is not there by an exception inside of its own library, which
 * takes longer than to look for it. Asked for many at once, it gives an empty place for each, and
 * they cost one call from Java. Spark's stores can be asked so; its maps do not pass it on, so what
 * such a map is made of is taken out of it.
 */
public final class ManyEntries {
    private final StateStore store;
    private final CompositeKeyStateEncoder<byte[], byte[]> encoder;
    private final String name;
    private final List<UnsafeRow> asked = new ArrayList<>();

    public ManyEntries(MapState<byte[], byte[]> map) {
        store = Inside.part(map, MapStateImpl.class, "store");
        encoder = Inside.part(map, MapStateImpl.class, "stateTypesEncoder");
        name = Inside.part(map, MapStateImpl.class, "stateName");
    }

    /** Asks for the entry that a key has in the map of a group. */
    public void ask(Row group, byte[] key) {
        ImplicitGroupingKeyTracker.setImplicitKey(group);
        // The encoder gives the same row again and again.
        asked.add(encoder.encodeCompositeKey(key).copy());
    }

    /** Gives the values in the order in which they were asked for, null for one that is not there. */
    public List<byte[]> read() {
        if (asked.isEmpty()) {
            return List.of();
        }
        List<byte[]> found = new ArrayList<>(asked.size());
        Iterator<UnsafeRow> values = store.multiGet(asked.toArray(UnsafeRow[]::new), name);
        while (values.hasNext()) {
            UnsafeRow value = values.next();
            found.add(value == null ? null : encoder.decodeValue(value));
        }
        asked.clear();
        return found;
    }
}
