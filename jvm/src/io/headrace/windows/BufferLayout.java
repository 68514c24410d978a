package io.headrace.windows;

import io.headrace.formats.ScalaLists;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.ImperativeAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.NoOp$;
import org.apache.spark.sql.catalyst.expressions.aggregate.TypedImperativeAggregate;

/** The fields of a buffer, function by function, and the expressions that fill each of them. */
final class BufferLayout {
    /** For a field that is filled by a function's own code. */
    private static final Expression NOTHING = NoOp$.MODULE$;

    final List<Attribute> fields = new ArrayList<>();

    /** The same fields of a buffer that is merged into this one. */
    final List<Attribute> others = new ArrayList<>();

    final List<Expression> initial = new ArrayList<>();
    final List<Expression> updates = new ArrayList<>();
    final List<Expression> merges = new ArrayList<>();
    final List<Expression> copies = new ArrayList<>();

    /** What each function comes to: one for a function, not for a field. */
    final List<Expression> finals = new ArrayList<>();

    /** Adds a function that consists of expressions; the filter may be null. */
    void add(DeclarativeAggregate function, Expression filter) {
        List<AttributeReference> own = ScalaLists.list(function.aggBufferAttributes());
        List<Expression> updated = ScalaLists.list(function.updateExpressions());
        for (int i = 0; i < own.size(); i++) {
            Expression update = updated.get(i);
            updates.add(filter == null ? update : new If(filter, update, own.get(i)));
        }
        fields.addAll(own);
        copies.addAll(own);
        others.addAll(ScalaLists.list(function.inputAggBufferAttributes()));
        initial.addAll(ScalaLists.list(function.initialValues()));
        merges.addAll(ScalaLists.list(function.mergeExpressions()));
        finals.add(function.evaluateExpression());
    }

    /** Adds a function that is code. */
    void add(ImperativeAggregate function) {
        boolean isObject = function instanceof TypedImperativeAggregate;
        for (AttributeReference field : ScalaLists.list(function.aggBufferAttributes())) {
            fields.add(field);
            others.add(field.newInstance());
            copies.add(isObject ? NOTHING : field);
            initial.add(NOTHING);
            updates.add(NOTHING);
            merges.add(NOTHING);
        }
        finals.add(NOTHING);
    }
}
