package io.headrace.sharing;

import io.headrace.formats.ScalaLists;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * The place in a plan where a step's rows are computed, and kept for others.
 *
 * <p>Public, with a constructor for what its product has, as Spark makes copies of it.
 */
public final class Shared extends SparkPlan {
    private static final long serialVersionUID = 1L;

    private final transient SharedRows rows;
    private final SparkPlan step;

    public Shared(SharedRows rows, SparkPlan step) {
        this.rows = rows;
        this.step = step;
    }

    /** Rules make copies of a node: it is the one that Spark prepares which is run. */
    @Override
    public void doPrepare() {
        rows.computedBy(step);
    }

    @Override
    public RDD<InternalRow> doExecute() {
        return rows.rows();
    }

    @Override
    public Seq<SparkPlan> children() {
        return ScalaLists.seq(List.of(step));
    }

    @Override
    public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> changed) {
        return new Shared(rows, changed.head());
    }

    @Override
    public Seq<Attribute> output() {
        return step.output();
    }

    @Override
    public int productArity() {
        return 2;
    }

    @Override
    public Object productElement(int place) {
        return place == 0 ? rows : step;
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof Shared;
    }
}
