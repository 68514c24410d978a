package io.headrace.sinks.lake;

import static org.apache.spark.sql.functions.col;

import io.headrace.delivery.FrameSink;
import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.Refusal;
import io.headrace.delivery.SinkTerms;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/**
 * The memory of this process, for tests and notebooks.
 *
 * <p>Rows and ledger end with the process. Another checkpoint of the same output begins anew.
 */
public final class MemorySink implements FrameSink {
    private static final Map<String, Held> HELD = new ConcurrentHashMap<>();

    private final String name;
    private final String schema;
    private final boolean isKeyed;
    private final long most;

    public MemorySink(SinkTerms terms) {
        Map<String, String> given = terms.settings();
        name = terms.pipeline() + "." + terms.name();
        schema = given.get("columns");
        isKeyed = Boolean.parseBoolean(given.get("keyed"));
        most = Long.parseLong(given.get("most"));
    }

    @Override
    public void prepare() {
        HELD.compute(
                name,
                (same, before) ->
                        before == null || !before.fits(schema, isKeyed)
                                ? new Held(schema, isKeyed)
                                : before);
    }

    @Override
    public Map<String, String> targets() {
        return Map.of();
    }

    @Override
    public LedgerRecord last() {
        return HELD.get(name).record();
    }

    @Override
    public Set<String> adopts() {
        return Set.of("checkpoint", "ledger");
    }

    @Override
    public void write(Dataset<Row> rows, long bytes, LedgerRecord record) {
        HELD.get(name).add(rows.sort("place").select("key", "value"), record, most, name);
    }

    /**
     * Gives what an output holds now.
     *
     * @param name the pipeline's name, a dot, and the output's
     * @return the rows; null if nothing has that name
     */
    public static Dataset<Row> read(SparkSession session, String name) {
        Held held = HELD.get(name);
        return held == null ? null : held.frame(session);
    }

    /** Rows in their order, or the last of each key in the order of the keys' first rows. */
    private static final class Held {
        private final String schema;
        private final boolean isKeyed;
        private final Map<Object, byte[]> rows = new LinkedHashMap<>();
        private long added;
        private LedgerRecord record;

        Held(String schema, boolean isKeyed) {
            this.schema = schema;
            this.isKeyed = isKeyed;
        }

        boolean fits(String otherSchema, boolean isOtherKeyed) {
            return schema.equals(otherSchema) && isKeyed == isOtherKeyed;
        }

        synchronized LedgerRecord record() {
            return record;
        }

        synchronized void add(Dataset<Row> batch, LedgerRecord next, long most, String name) {
            boolean isAnew =
                    record != null && !record.terms().lineage().equals(next.terms().lineage());
            Map<Object, byte[]> all = new LinkedHashMap<>(isAnew ? Map.of() : rows);
            // Before they are collected: that many may not fit into the driver at all.
            requireRoom(isKeyed ? next.rows() : all.size() + next.rows(), most, name);
            for (Row row : batch.collectAsList()) {
                Object key = isKeyed ? ByteBuffer.wrap(row.<byte[]>getAs(0)) : (Object) added++;
                if (row.isNullAt(1)) {
                    all.remove(key);
                } else {
                    all.put(key, row.<byte[]>getAs(1));
                }
            }
            requireRoom(all.size(), most, name);
            rows.clear();
            rows.putAll(all);
            record = next;
        }

        private static void requireRoom(long wanted, long most, String name) {
            if (wanted > most) {
                throw Refusal.of(
                        "memory-full",
                        "output \"" + name + "\" would hold " + wanted + " rows in memory",
                        "sinks.memory() was given room for " + most + ".",
                        "give it more with most=..., or write to a sink that is not memory.");
            }
        }

        synchronized Dataset<Row> frame(SparkSession session) {
            Dataset<Row> packed =
                    session.createDataset(new ArrayList<>(rows.values()), Encoders.BINARY())
                            .select(col("value"));
            return new PackedValues(schema).columns(packed);
        }
    }
}
