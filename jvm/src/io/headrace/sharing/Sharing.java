package io.headrace.sharing;

import java.io.Serializable;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.CollectMetrics;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReturnAnswer;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * An extension of Spark: steps with state that stand in a stream's plan several times run once.
 *
 * <p>Spark turns a plan into operators from the sinks to the sources. It is the first copy of a
 * step on this way that becomes operators; it is the same in each batch, as is the plan.
 */
public final class Sharing extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        extensions.injectPlannerStrategy(new Injected());
        return BoxedUnit.UNIT;
    }

    private static final class Injected extends AbstractFunction1<SparkSession, SparkStrategy>
            implements Serializable {
        private static final long serialVersionUID = 1L;

        @Override
        public SparkStrategy apply(SparkSession session) {
            return new Once(session);
        }
    }

    private static final class Once extends SparkStrategy {
        private final SparkSession session;

        Once(SparkSession session) {
            this.session = session;
        }

        @Override
        public Seq<SparkPlan> apply(LogicalPlan plan) {
            SparkPlan node = null;
            if (plan instanceof ReturnAnswer whole && SharedRows.isInStream(session)) {
                SharedSteps.find(whole.child());
            } else if (plan instanceof CollectMetrics step) {
                node = SharedSteps.planned(step, this::planLater);
            }
            // Nothing leaves a node to Spark.
            return node == null
                    ? List$.MODULE$.empty()
                    : List$.MODULE$.<SparkPlan>empty().$colon$colon(node);
        }
    }
}
