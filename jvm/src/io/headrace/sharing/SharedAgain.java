package io.headrace.sharing;

import io.headrace.formats.ScalaLists;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.streaming.operators.stateful.EventTimeWatermarkExec;
import scala.Option;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * Gives the rows of a step which stands elsewhere in the plan.
 *
 * <p>What stands below it is not run. Spark follows the watermark through a plan to each operator
 * with state, and would find none behind a leaf.
 *
 * <p>Public, with a constructor for what its product has, as Spark makes copies of it.
 */
public final class SharedAgain extends SparkPlan {
    private static final long serialVersionUID = 1L;

    private final transient SharedRows rows;
    private final Seq<Attribute> output;
    private final Seq<SparkPlan> children;

    public SharedAgain(SharedRows rows, Seq<Attribute> output, Seq<SparkPlan> children) {
        this.rows = rows;
        this.output = output;
        this.children = children;
    }

    /**
     * Gives such a node.
     *
     * @param watermark where that of the step comes from; null if it has none
     */
    static SharedAgain of(SharedRows rows, Seq<Attribute> output, EventTimeWatermark watermark) {
        List<SparkPlan> below = watermark == null ? List.of() : List.of(operator(watermark));
        return new SharedAgain(rows, output, ScalaLists.seq(below));
    }

    private static SparkPlan operator(EventTimeWatermark watermark) {
        SparkPlan nothing =
                new LocalTableScanExec(
                        ScalaLists.seq(List.of(watermark.eventTime())),
                        ScalaLists.seq(List.of()),
                        Option.empty());
        return new EventTimeWatermarkExec(
                watermark.nodeId(), watermark.eventTime(), watermark.delay(), nothing);
    }

    @Override
    public RDD<InternalRow> doExecute() {
        return rows.rows();
    }

    @Override
    public Seq<SparkPlan> children() {
        return children;
    }

    @Override
    public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> changed) {
        return new SharedAgain(rows, output, changed);
    }

    @Override
    public Seq<Attribute> output() {
        return output;
    }

    /** The columns are its own, and not from below. */
    @Override
    public AttributeSet producedAttributes() {
        return outputSet();
    }

    @Override
    public int productArity() {
        return 3;
    }

    @Override
    public Object productElement(int place) {
        return List.of(rows, output, children).get(place);
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof SharedAgain;
    }
}
