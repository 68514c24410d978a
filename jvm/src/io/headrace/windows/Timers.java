package io.headrace.windows;

import io.headrace.operators.Inside;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TimerKeyEncoder;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.TWSMetricsUtils$;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers.TimerStateImpl;
import org.apache.spark.sql.execution.streaming.state.StateStore;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import scala.collection.immutable.Map;

/**
 * Sets timers of the key at hand.
 *
 * <p>Spark first asks its store whether there is such a timer, which hardly ever is the case, and
 * warns if there is. To look for what is not there is the dearest of all that a timer costs; and to
 * write one that is there once more changes nothing. So it is written at once, as Spark writes it.
 */
final class Timers {
    private static final String SET = "numRegisteredTimers";

    private final StatefulProcessorHandle handle;
    private Map<String, SQLMetric> metrics;
    private StateStore store;
    private TimerKeyEncoder encoder;
    private UnsafeRow nothing;
    private String byKey;
    private String byTime;

    Timers(StatefulProcessorHandle handle) {
        this.handle = handle;
    }

    /** Sets a timer for a watermark, in milliseconds. */
    void set(long watermark) {
        if (store == null) {
            open();
        }
        Object key = ImplicitGroupingKeyTracker.getImplicitKeyOption().get();
        store.put(encoder.encodedKey(key, watermark), nothing, byKey);
        store.put(encoder.encodeSecIndexKey(key, watermark), nothing, byTime);
        TWSMetricsUtils$.MODULE$.incrementMetric(metrics, SET, 1L);
    }

    /** Not before the first timer: where a plan is only looked at, there is no store. */
    private void open() {
        TimerStateImpl timers = Inside.call(handle, StatefulProcessorHandleImpl.class, "timerState");
        metrics = Inside.part(handle, StatefulProcessorHandleImpl.class, "metrics");
        encoder = Inside.part(timers, TimerStateImpl.class, "rowEncoder");
        nothing = Inside.part(timers, TimerStateImpl.class, "EMPTY_ROW");
        byKey = Inside.part(timers, TimerStateImpl.class, "keyToTsCFName");
        byTime = Inside.part(timers, TimerStateImpl.class, "tsToKeyCFName");
        store = Inside.part(timers, TimerStateImpl.class, "store");
    }
}
