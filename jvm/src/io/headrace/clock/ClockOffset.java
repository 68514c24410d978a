package io.headrace.clock;

import org.apache.spark.sql.connector.read.streaming.Offset;

/** A clock's state as an offset of Spark's. */
final class ClockOffset extends Offset {
    private final ClockState state;
    private final String json;

    ClockOffset(ClockState state, String name) {
        this.state = state;
        this.json = ClockText.of(state, name);
    }

    ClockState state() {
        return state;
    }

    @Override
    public String json() {
        return json;
    }
}
