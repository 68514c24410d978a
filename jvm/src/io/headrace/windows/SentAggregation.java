package io.headrace.windows;

import java.io.Serializable;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkEnv;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.util.Utils;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * An aggregation on its way to a task.
 *
 * <p>Each task of each batch reads its operator anew, and reading Spark's expressions takes longer
 * than many a batch has to aggregate. So they travel as bytes under a name, and a process that has
 * the aggregation of this name, with what was compiled for it, goes on with that.
 */
record SentAggregation(String name, byte[] bytes) implements Serializable {
    /** Held by their operators: on the driver as long as the query runs. */
    private static final Map<String, WeakReference<Aggregation>> KNOWN = new ConcurrentHashMap<>();

    private static final ClassTag<Aggregation.Meaning> MEANING =
            ClassTag$.MODULE$.apply(Aggregation.Meaning.class);

    static SentAggregation of(Aggregation aggregation, Aggregation.Meaning meaning) {
        ByteBuffer written = serializer().serialize(meaning, MEANING);
        byte[] bytes = new byte[written.remaining()];
        written.get(bytes);
        SentAggregation sent = new SentAggregation(UUID.randomUUID().toString(), bytes);
        KNOWN.values().removeIf(one -> one.get() == null);
        KNOWN.put(sent.name, new WeakReference<>(aggregation));
        return sent;
    }

    private Object readResolve() {
        WeakReference<Aggregation> known = KNOWN.get(name);
        Aggregation found = known == null ? null : known.get();
        return found != null ? found : read();
    }

    private Aggregation read() {
        ClassLoader loader = Utils.getContextOrSparkClassLoader();
        Aggregation.Meaning meaning =
                serializer().deserialize(ByteBuffer.wrap(bytes), loader, MEANING);
        Aggregation read = new Aggregation(meaning);
        KNOWN.put(name, new WeakReference<>(read));
        return read;
    }

    private static SerializerInstance serializer() {
        return SparkEnv.get().closureSerializer().newInstance();
    }
}
