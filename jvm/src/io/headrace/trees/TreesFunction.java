package io.headrace.trees;

import io.headrace.formats.ScalaLists;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CreateArray;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.ObjectType;
import scala.Option;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The SQL function that scores: first a model as a text, then its features.
 *
 * <p>Of the model Spark's plan holds one object and its generated code one call, whatever the
 * number of trees.
 */
public final class TreesFunction {
    private static final String METHOD = "score";

    private TreesFunction() {}

    /** Lets a session know the function by a name. */
    public static void register(SparkSession session, String name) {
        session.sessionState()
                .functionRegistry()
                .createOrReplaceTempFunction(name, given -> scored(name, given), "java_udf");
    }

    private static Expression scored(String name, Seq<Expression> given) {
        List<Expression> parts = CollectionConverters.asJava(given);
        String model = parts.get(0).eval(null).toString();
        List<Expression> features = new ArrayList<>();
        for (int i = 1; i < parts.size(); i++) {
            features.add(asDouble(name, i, parts.get(i)));
        }
        Expression target = new Literal(new Scorer(model), new ObjectType(Scorer.class));
        Seq<AbstractDataType> anyTypes = noTypes();
        boolean propagateNull = false;
        boolean nullable = true;
        boolean deterministic = true;
        return new Invoke(
                target,
                METHOD,
                DataTypes.DoubleType,
                ScalaLists.seq(List.of(new CreateArray(ScalaLists.seq(features)))),
                anyTypes,
                propagateNull,
                nullable,
                deterministic);
    }

    private static Expression asDouble(String function, int place, Expression feature) {
        if (!(feature.dataType() instanceof NumericType)) {
            throw TreesFunction.<RuntimeException>unchecked(
                    new AnalysisException(
                            "UNEXPECTED_INPUT_TYPE",
                            ScalaLists.map(
                                    Map.of(
                                            "paramIndex", Integer.toString(place + 1),
                                            "functionName", function,
                                            "requiredType", "NUMERIC",
                                            "inputSql", feature.sql(),
                                            "inputType", feature.dataType().sql()))));
        }
        if (feature.dataType().equals(DataTypes.DoubleType)) {
            return feature;
        }
        return new Cast(feature, DataTypes.DoubleType, Option.empty());
    }

    /** Throws what Java wants declared and Spark's functions cannot declare. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E unchecked(Throwable thrown) throws E {
        throw (E) thrown;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Seq<AbstractDataType> noTypes() {
        return (Seq) Nil$.MODULE$;
    }
}
