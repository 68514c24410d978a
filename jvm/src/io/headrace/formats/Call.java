package io.headrace.formats;

import java.util.Arrays;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.ObjectType;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A column that calls a method of an object of ours for each row.
 *
 * <p>The method takes and gives Spark's internal values, so nothing is converted on the way, and
 * the call becomes part of the code that Spark generates for the whole stage.
 */
public final class Call {
    private Call() {}

    /**
     * Gives such a column.
     *
     * @param function the object; serializable, and public, as generated code calls it
     * @param method the name of its method; a number that it takes as a primitive is never null
     * @param result the type of what the method gives
     * @param given what the method is given
     */
    @SuppressWarnings("unchecked")
    public static Column of(Object function, String method, DataType result, Column... given) {
        Expression target = new Literal(function, new ObjectType(function.getClass()));
        Seq<?> arguments =
                CollectionConverters.asScala(
                                Arrays.stream(given).map(ExpressionUtils::expression).toList())
                        .toList();
        Seq<?> anyTypes = Nil$.MODULE$;
        boolean propagateNull = false;
        boolean nullable = true;
        // To the optimizer a deterministic expression is free to copy: a filter on one field
        // would be pushed below the projection and everything be read twice.
        boolean deterministic = false;
        return ExpressionUtils.column(
                new Invoke(
                        target,
                        method,
                        result,
                        (Seq<Expression>) arguments,
                        (Seq<org.apache.spark.sql.types.AbstractDataType>) anyTypes,
                        propagateNull,
                        nullable,
                        deterministic));
    }
}
