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

    /** Gives the aggregation of a meaning, as this process has it from now on. */
    static Aggregation of(Aggregation.Meaning meaning) {
        ByteBuffer written = serializer().serialize(meaning, MEANING);
        byte[] bytes = new byte[written.remaining()];
        written.get(bytes);
        KNOWN.values().removeIf(one -> one.get() == null);
        return new SentAggregation(UUID.randomUUID().toString(), bytes).known(meaning);
    }

    /** Reads the aggregates: expressions that nothing else has. */
    Aggregation.Meaning meaning() {
        ClassLoader loader = Utils.getContextOrSparkClassLoader();
        return serializer().deserialize(ByteBuffer.wrap(bytes), loader, MEANING);
    }

    private Object readResolve() {
        WeakReference<Aggregation> known = KNOWN.get(name);
        Aggregation found = known == null ? null : known.get();
        return found != null ? found : known(meaning());
    }

    private Aggregation known(Aggregation.Meaning meaning) {
        Aggregation aggregation = new Aggregation(meaning, this);
        KNOWN.put(name, new WeakReference<>(aggregation));
        return aggregation;
    }

    private static SerializerInstance serializer() {
        return SparkEnv.get().closureSerializer().newInstance();
    }
}
