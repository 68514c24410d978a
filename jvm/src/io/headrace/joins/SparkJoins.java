package io.headrace.joins;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.max;
import static org.apache.spark.sql.functions.when;

import io.headrace.batches.DeadLetters;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Inner joins as Spark's own join evaluates them, in the form that our operator gives.
 *
 * <p>Late rows are counted before Spark sees them, by the watermark of their batch. Spark's join has
 * no place for a dead letter, so dead letters are read apart, if the batch has any.
 */
public final class SparkJoins {
    private static final List<String> COUNTS = List.of("_in", "_on_time", "_late");
    private static final String SIDE = "_side";

    private final JoinTerms terms;
    private final NativeSide left;
    private final NativeSide right;
    private final StructType carried;

    private SparkJoins(Dataset<Row> left, Dataset<Row> right, JoinTerms terms) {
        this.terms = terms;
        this.left = new NativeSide(left, terms.left(), "_left_");
        this.right = new NativeSide(right, terms.right(), "_right_");
        this.carried = left.select(Packed.carried()).schema();
    }

    /**
     * Joins two streams, and tells each pair.
     *
     * <p>Which rows have found a partner is not known here: the metric {@code join.NAME} has {@code
     * on_time} in place of {@code matched}, {@code unmatched} and {@code waiting}.
     *
     * @param left as for {@link Joins}, straight from its sources
     * @param right as for {@link Joins}, straight from its sources
     * @param json the step's terms: an inner join that drops late rows
     * @return what {@link Joins} gives
     */
    public static Dataset<Row> over(Dataset<Row> left, Dataset<Row> right, String json) {
        return new SparkJoins(left, right, JoinTerms.parse(json)).told();
    }

    private Dataset<Row> told() {
        Dataset<Row> pairs = pairs();
        StructType types = pairs.schema();
        return pairs.unionByName(deadLetters(left, true, types))
                .unionByName(deadLetters(right, false, types))
                .observe(
                        "join." + terms.name(),
                        counted("_in").as("in"),
                        counted("_on_time").as("on_time"),
                        counted("_late").as("late"),
                        Packed.number(JoinedRows.DEAD).as("dead_letters"),
                        Packed.number(JoinedRows.JOINED).as("results"))
                .where(col("_kind").notEqual(JoinedRows.TALLY))
                .drop(COUNTS.toArray(String[]::new))
                .drop(SIDE);
    }

    private Dataset<Row> pairs() {
        Column belong =
                right.time()
                        .geq(left.time().plus(interval(terms.from())))
                        .and(right.time().leq(left.time().plus(interval(terms.to()))));
        for (int i = 0; i < terms.left().key().size(); i++) {
            belong = belong.and(left.key(i).equalTo(right.key(i)));
        }
        List<Column> shown = new ArrayList<>();
        shown.add(lit(JoinedRows.JOINED).as("_kind"));
        shown.add(left.row().as("_left"));
        shown.add(right.row().as("_right"));
        shown.add(nothing(DataTypes.LongType, "late_by_ms"));
        for (String name : DeadLetters.CARRIED) {
            shown.add(nothing(carried.apply(name).dataType(), name));
        }
        COUNTS.forEach(name -> shown.add(nothing(DataTypes.LongType, name)));
        shown.add(nothing(DataTypes.BooleanType, SIDE));
        return left.admitted()
                .join(right.admitted(), belong)
                .select(shown.toArray(Column[]::new));
    }

    private static Dataset<Row> deadLetters(NativeSide side, boolean isLeft, StructType types) {
        List<Column> shown = new ArrayList<>();
        shown.add(col("_kind"));
        for (String name : List.of("_left", "_right", "late_by_ms")) {
            shown.add(nothing(types.apply(name).dataType(), name));
        }
        for (String name : DeadLetters.CARRIED) {
            shown.add(col(DeadLetters.ROW).getField(name).as(name));
        }
        COUNTS.forEach(name -> shown.add(col(name)));
        shown.add(lit(isLeft).as(SIDE));
        return side.deadLetters().select(shown.toArray(Column[]::new));
    }

    /** Each task of a second reading tells all that the first one of its side has counted. */
    private static Column counted(String name) {
        Column ofLeft = max(when(col(SIDE), col(name)));
        Column ofRight = max(when(col(SIDE).equalTo(false), col(name)));
        return coalesce(ofLeft, lit(0L)).plus(coalesce(ofRight, lit(0L)));
    }

    private static Column nothing(DataType type, String name) {
        return lit(null).cast(type).as(name);
    }

    private static Column interval(long micros) {
        return expr("interval " + micros + " microseconds");
    }
}
