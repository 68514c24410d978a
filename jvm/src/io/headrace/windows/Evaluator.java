package io.headrace.windows;

import io.headrace.formats.ScalaLists;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.catalyst.expressions.MutableValue;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.package$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.ObjectType;
import scala.collection.immutable.Seq;

/**
 * Runs the functions of an {@link Aggregation} over buffers. One per task; not thread-safe.
 *
 * <p>Spark compiles code for it when it is made, so it is made once and not for each key.
 */
public final class Evaluator {
    /** A function that is code; the others are expressions, which are compiled together. */
    private record Coded(ImperativeAggregate function, BasePredicate filter, int result) {
        boolean wants(InternalRow event) {
            return filter == null || filter.eval(event);
        }
    }

    private static final DataType OBJECT = new ObjectType(Object.class);

    private final List<Coded> coded = new ArrayList<>();
    private final List<Coded> plain = new ArrayList<>();
    private final List<TypedImperativeAggregate<Object>> typed = new ArrayList<>();

    private final MutableValue[] empty;
    private final JoinedRow joined = new JoinedRow();
    private final UnsafeRow stored;
    private final InternalRow values;
    private final MutableProjection beginning;
    private final MutableProjection updating;
    private final MutableProjection merging;
    private final MutableProjection reading;
    private final MutableProjection finishing;
    private final UnsafeProjection storing;
    private final UnsafeProjection giving;

    Evaluator(
            List<Attribute> input,
            List<AggregateExpression> calls,
            List<? extends Expression> results) {
        BufferLayout layout = new BufferLayout();
        List<Attribute> resultAttributes = new ArrayList<>();
        for (AggregateExpression call : calls) {
            if (call.aggregateFunction() instanceof DeclarativeAggregate declared) {
                layout.add(declared, call.filter().isDefined() ? call.filter().get() : null);
            } else {
                add(layout, call, input, resultAttributes.size());
            }
            resultAttributes.add(call.resultAttribute());
        }
        empty = new SpecificInternalRow(ScalaLists.seq(types(layout.fields))).values();
        stored = new UnsafeRow(layout.fields.size());
        values = new SpecificInternalRow(ScalaLists.seq(types(resultAttributes)));

        Seq<Attribute> none = ScalaLists.seq(List.of());
        Seq<Attribute> buffer = ScalaLists.seq(layout.fields);
        beginning = MutableProjection.create(ScalaLists.seq(layout.initial), none);
        updating =
                MutableProjection.create(
                        ScalaLists.seq(layout.updates), ScalaLists.joined(layout.fields, input));
        merging =
                MutableProjection.create(
                        ScalaLists.seq(layout.merges),
                        ScalaLists.joined(layout.fields, layout.others));
        reading = MutableProjection.create(ScalaLists.seq(layout.copies), buffer);
        finishing = MutableProjection.create(ScalaLists.seq(layout.finals), buffer);
        storing = UnsafeProjection.create(types(layout.fields).toArray(DataType[]::new));
        giving = UnsafeProjection.create(ScalaLists.seq(results), ScalaLists.seq(resultAttributes));
    }

    /** Gives the buffer of no events. */
    public Buffer fresh() {
        InternalRow row = row();
        beginning.target(row).apply(InternalRow.empty());
        for (Coded each : coded) {
            each.function.initialize(row);
        }
        Buffer buffer = new Buffer(row);
        buffer.open = true;
        return buffer;
    }

    /** Adds an event, whose columns are those of the input. */
    public void update(Buffer buffer, InternalRow event) {
        if (!buffer.open) {
            beginObjects(buffer.taking);
            buffer.open = true;
        }
        updating.target(buffer.taking).apply(joined.apply(buffer.taking, event));
        for (Coded each : coded) {
            if (each.wants(event)) {
                each.function.update(buffer.taking, event);
            }
        }
    }

    /** Adds what another buffer has gathered. The other may be spoilt by it. */
    public void merge(Buffer into, Buffer from) {
        merging.target(into.taking).apply(joined.apply(into.taking, from.taking));
        for (Coded each : plain) {
            each.function.merge(into.taking, from.taking);
        }
        if (typed.isEmpty()) {
            return;
        }
        if (into.merged == null) {
            into.merged = row();
            beginObjects(into.merged);
        }
        close(into);
        close(from);
        mergeObjects(into.merged, from.objects());
    }

    /** Gives what {@link #load} reads. The buffer can be used on. */
    public byte[] store(Buffer buffer) {
        close(buffer);
        InternalRow row = buffer.taking;
        Object[] objects = new Object[typed.size()];
        for (int i = 0; i < objects.length; i++) {
            TypedImperativeAggregate<Object> function = typed.get(i);
            int place = function.mutableAggBufferOffset();
            objects[i] = row.get(place, OBJECT);
            row.update(place, function.serialize(buffer.objects().get(place, OBJECT)));
        }
        byte[] bytes = storing.apply(row).copy().getBytes();
        for (int i = 0; i < objects.length; i++) {
            row.update(typed.get(i).mutableAggBufferOffset(), objects[i]);
        }
        return bytes;
    }

    /** Gives the buffer that was stored, by this evaluator or another of the same aggregation. */
    public Buffer load(byte[] bytes) {
        stored.pointTo(bytes, bytes.length);
        Buffer buffer = new Buffer(row());
        // Copies texts and lists, so that the bytes can be written over.
        reading.target(buffer.taking).apply(stored);
        buffer.open = typed.isEmpty();
        if (!buffer.open) {
            buffer.merged = row();
            beginObjects(buffer.merged);
            for (TypedImperativeAggregate<Object> function : typed) {
                function.merge(buffer.merged, stored);
            }
        }
        return buffer;
    }

    /** Gives the results as the bytes of an UnsafeRow. The buffer can be used on. */
    public byte[] result(Buffer buffer) {
        close(buffer);
        finishing.target(values).apply(buffer.taking);
        for (Coded each : coded) {
            boolean isTyped = each.function instanceof TypedImperativeAggregate;
            InternalRow from = isTyped ? buffer.objects() : buffer.taking;
            values.update(each.result, each.function.eval(from));
        }
        return giving.apply(values).copy().getBytes();
    }

    /** Merges the objects that took events into those that take objects, if there are any. */
    private void close(Buffer buffer) {
        if (buffer.merged != null && buffer.open) {
            mergeObjects(buffer.merged, buffer.taking);
            for (TypedImperativeAggregate<Object> function : typed) {
                buffer.taking.setNullAt(function.mutableAggBufferOffset());
            }
            buffer.open = false;
        }
    }

    private void beginObjects(InternalRow row) {
        for (TypedImperativeAggregate<Object> function : typed) {
            function.initialize(row);
        }
    }

    /** Merges by way of bytes, as Spark does: it is the only way that every function has. */
    private void mergeObjects(InternalRow into, InternalRow from) {
        for (TypedImperativeAggregate<Object> function : typed) {
            int place = function.mutableAggBufferOffset();
            Object object = from.get(place, OBJECT);
            // Copied, as functions write into bytes they have given before, and what they read
            // from bytes still points into them.
            from.update(place, function.serialize(object).clone());
            function.merge(into, from);
            from.update(place, object);
        }
    }

    /** Makes an empty row; asking Spark for the kind of each field takes longer than copying them. */
    private InternalRow row() {
        MutableValue[] fields = new MutableValue[empty.length];
        for (int i = 0; i < fields.length; i++) {
            fields[i] = empty[i].copy();
        }
        return new SpecificInternalRow(fields);
    }

    @SuppressWarnings("unchecked")
    private void add(
            BufferLayout layout, AggregateExpression call, List<Attribute> input, int result) {
        int place = layout.fields.size();
        ImperativeAggregate function =
                bound((ImperativeAggregate) call.aggregateFunction(), input)
                        .withNewMutableAggBufferOffset(place)
                        .withNewInputAggBufferOffset(place);
        BasePredicate filter =
                call.filter().isEmpty()
                        ? null
                        : Predicate$.MODULE$.create(call.filter().get(), ScalaLists.seq(input));
        Coded one = new Coded(function, filter, result);
        coded.add(one);
        if (function instanceof TypedImperativeAggregate<?> withObject) {
            typed.add((TypedImperativeAggregate<Object>) withObject);
        } else {
            plain.add(one);
        }
        layout.add(function);
    }

    private static ImperativeAggregate bound(ImperativeAggregate function, List<Attribute> input) {
        var attributes = package$.MODULE$.AttributeSeq(ScalaLists.seq(input));
        return BindReferences.bindReference(function, attributes, false);
    }

    private static List<DataType> types(List<Attribute> attributes) {
        return attributes.stream().map(Attribute::dataType).toList();
    }
}
