package io.headrace.groups;

import io.headrace.operators.Parcel;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** Values of one type as bytes, and in the order that Spark has for them. */
final class Values implements Serializable {
    private static final long serialVersionUID = 1L;

    private final DataType type;
    private final Parcel parcel;
    private transient InterpretedOrdering ordering;
    private transient UnsafeRow one;
    private transient UnsafeRow other;

    Values(StructField field) {
        this.type = field.dataType();
        this.parcel = new Parcel(new StructType().add(field));
    }

    byte[] packed(Object value) {
        return parcel.pack(new GenericInternalRow(new Object[] {value}));
    }

    Object unpacked(byte[] bytes) {
        return parcel.unpack(bytes).get(0, type);
    }

    Comparator<byte[]> order() {
        return this::compare;
    }

    private int compare(byte[] left, byte[] right) {
        if (ordering == null) {
            ordering =
                    InterpretedOrdering.forSchema(
                            CollectionConverters.asScala(List.of(type)).toSeq());
            one = new UnsafeRow(1);
            other = new UnsafeRow(1);
        }
        one.pointTo(left, left.length);
        other.pointTo(right, right.length);
        return ordering.compare(one, other);
    }

    /** By how much the numbers of values change. */
    final class Changes {
        private final Map<ByteBuffer, Long> numbers = new HashMap<>();

        void add(Object value, boolean isTakenBack) {
            numbers.merge(ByteBuffer.wrap(packed(value)), isTakenBack ? -1L : 1L, Long::sum);
        }

        /** Gives what has changed in the end, in order. */
        List<Page.Entry> inOrder() {
            List<Page.Entry> found = new ArrayList<>(numbers.size());
            numbers.forEach(
                    (value, number) -> {
                        if (number != 0) {
                            found.add(new Page.Entry(value.array(), number));
                        }
                    });
            found.sort(Comparator.comparing(Page.Entry::value, order()));
            return found;
        }
    }
}
