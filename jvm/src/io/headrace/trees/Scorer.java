package io.headrace.trees;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.util.ArrayData;

/**
 * The object that Spark calls with the features of each row.
 *
 * <p>It travels to the executors as the text of its model, by which the trees are found there. Two
 * of the same text are equal, so plans that hold them can be compared. Public, as the code that
 * Spark generates calls it.
 */
public final class Scorer implements Serializable {
    private static final long serialVersionUID = 1L;

    private final String model;
    private transient BoostedTrees trees;

    Scorer(String model) {
        this.model = model;
        // Refuses a text that is no model now, and not in the first batch.
        trees = BoostedTrees.of(model);
    }

    /** Gives the score of a row; null if one of the features is. */
    public Double score(ArrayData told) {
        for (int i = 0; i < told.numElements(); i++) {
            if (told.isNullAt(i)) {
                return null;
            }
        }
        if (trees == null) {
            trees = BoostedTrees.of(model);
        }
        return trees.score(told.toDoubleArray());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Scorer scorer && model.equals(scorer.model);
    }

    @Override
    public int hashCode() {
        return model.hashCode();
    }

    @Override
    public String toString() {
        return BoostedTrees.of(model).toString();
    }
}
