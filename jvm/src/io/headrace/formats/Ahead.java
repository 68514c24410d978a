package io.headrace.formats;

import java.io.Serializable;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * How far the time of an event may lie beyond the time of its record.
 *
 * <p>One event from the year 2100 would carry the watermark there, and every event after it would
 * be late.
 */
record Ahead(String name, int index, long micros) implements Serializable {
    /** Refuses an event from the future; a record without a time of its own cannot tell. */
    void require(Object[] event, long recordedAt) throws Unreadable {
        if (recordedAt >= 0 && event[index] instanceof Long at && at - recordedAt > micros) {
            throw new Unreadable(
                            Reason.EVENT_IN_THE_FUTURE,
                            instant(at)
                                    + " is more than "
                                    + Duration.of(micros, ChronoUnit.MICROS)
                                    + " after the record's own time, "
                                    + instant(recordedAt))
                    .inField(name);
        }
    }

    private static Instant instant(long micros) {
        return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
    }
}
