package io.headrace.windows;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.function.ToLongFunction;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;

/**
 * Windows that are kept all in one, for keys that have few at a time: one read and one write of the
 * state store, and one timer, whatever a batch brings.
 */
final class GatheredWindows extends HeldWindows {
    private final ValueState<byte[]> state;
    private final Evaluator evaluator;

    /** The moment for which the key's timer is set; the one that fires sets the next. */
    private long alarm;

    private boolean isChanged;
    private boolean wasStored;

    GatheredWindows(StatefulProcessorHandle handle, String name, Evaluator evaluator) {
        this.state = handle.getValueState("windows-" + name, Encoders.BINARY(), TTLConfig.NONE());
        this.evaluator = evaluator;
    }

    @Override
    void open() {
        super.open();
        alarm = Long.MAX_VALUE;
        isChanged = false;
        byte[] stored = state.get();
        wasStored = stored != null;
        if (wasStored) {
            ByteBuffer in = ByteBuffer.wrap(stored);
            alarm = in.getLong();
            while (in.hasRemaining()) {
                int length = in.getInt();
                ByteBuffer one = in.slice(in.position(), length);
                add(Held.read(one, evaluator));
                in.position(in.position() + length);
            }
        }
    }

    @Override
    void remove(Held held) {
        super.remove(held);
        isChanged = true;
    }

    @Override
    void store(ToLongFunction<Held> nextMoment, LongConsumer setTimer) {
        if (!isChanged && found.values().stream().noneMatch(held -> held.changed)) {
            return;
        }
        if (found.isEmpty()) {
            if (wasStored) {
                state.clear();
            }
            return;
        }
        long next = Long.MAX_VALUE;
        int length = Long.BYTES;
        List<byte[]> parts = new ArrayList<>(found.size());
        for (Held held : found.values()) {
            next = Math.min(next, nextMoment.applyAsLong(held));
            byte[] part = held.stored(evaluator);
            parts.add(part);
            length += Integer.BYTES + part.length;
        }
        if (next != alarm) {
            setTimer.accept(next);
        }
        ByteBuffer out = ByteBuffer.allocate(length).putLong(next);
        parts.forEach(part -> out.putInt(part.length).put(part));
        state.update(out.array());
    }
}
