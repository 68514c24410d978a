package io.headrace.operators;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;

/**
 * Puts the packed rows of a call into the order of their events, as they come in none.
 *
 * <p>The order is by event time, then partition, offset and topic; rows whose origin is unknown are
 * put in order by their bytes, so that a batch that is run again has the same order.
 */
public final class Arrivals implements Serializable {
    public static final String DEAD = "_dead";
    public static final String ORIGIN = "_origin";
    private static final long serialVersionUID = 1L;
    private static final int ABSENT = -1;

    /** The time of a row that has none; it comes before all others. */
    public static final long NO_TIME = Long.MIN_VALUE;

    public static final Comparator<Arrival> ORDER =
            Comparator.comparingLong(Arrival::at)
                    .thenComparing(Arrival::origin, Arrivals::compareOrigins)
                    .thenComparing(Arrival::bytes, Arrays::compare);

    private final Parcel parcel;
    private final int time;
    private final int origin;
    private final int dead;

    public Arrivals(Parcel parcel, String time) {
        StructType schema = parcel.schema();
        List<String> names = Arrays.asList(schema.fieldNames());
        this.parcel = parcel;
        this.time = time == null ? ABSENT : schema.fieldIndex(time);
        this.origin = names.indexOf(ORIGIN);
        this.dead = names.indexOf(DEAD);
    }

    /** A packed row, its event time in microseconds, and where it came from, if that is known. */
    public record Arrival(byte[] bytes, long at, InternalRow origin) {}

    /** Whether a row is a dead letter. */
    public boolean isDead(byte[] bytes) {
        return dead != ABSENT && !parcel.unpack(bytes).isNullAt(dead);
    }

    /** Gives rows in order; those without a time come first. */
    public List<Arrival> inOrder(Iterator<Row> rows) {
        List<Arrival> found = new ArrayList<>(1);
        while (rows.hasNext()) {
            found.add(arrival(rows.next().getAs(0)));
        }
        found.sort(ORDER);
        return found;
    }

    /** Reads what the order goes by. */
    public Arrival arrival(byte[] bytes) {
        UnsafeRow row = parcel.unpack(bytes);
        boolean known = origin != ABSENT && !row.isNullAt(origin);
        // topic, partition, offset, timestamp: the order that all sources give them in.
        boolean isTimed = time != ABSENT && !row.isNullAt(time);
        long at = isTimed ? row.getLong(time) : NO_TIME;
        return new Arrival(bytes, at, known ? row.getStruct(origin, 4) : null);
    }

    /** Compares partitions, then offsets, then topics; what is unknown comes first. */
    public static int compareOrigins(InternalRow one, InternalRow other) {
        if (one == null || other == null) {
            return Boolean.compare(one != null, other != null);
        }
        int order = Integer.compare(one.getInt(1), other.getInt(1));
        if (order == 0) {
            order = Long.compare(one.getLong(2), other.getLong(2));
        }
        return order == 0 ? one.getUTF8String(0).compareTo(other.getUTF8String(0)) : order;
    }
}
