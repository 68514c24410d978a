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
            return new Once();
        }
    }

    private static final class Once extends SparkStrategy {
        /**
         * What is shared in the plan that a thread is at. Plans follow one another; strategies are
         * made anew for each node.
         */
        private static final ThreadLocal<SharedSteps> PLANNED = new ThreadLocal<>();

        @Override
        public Seq<SparkPlan> apply(LogicalPlan plan) {
            if (plan instanceof ReturnAnswer whole) {
                PLANNED.set(SharedRows.isInStream() ? SharedSteps.of(whole.child()) : null);
            } else if (plan instanceof CollectMetrics counted && PLANNED.get() != null) {
                SparkPlan node = PLANNED.get().planned(counted, this::planLater);
                return node == null ? none() : List$.MODULE$.empty().$colon$colon(node);
            }
            return none();
        }

        /** Leaves a node to Spark. */
        private static Seq<SparkPlan> none() {
            return List$.MODULE$.empty();
        }
    }
}
