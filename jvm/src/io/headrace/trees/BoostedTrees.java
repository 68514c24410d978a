package io.headrace.trees;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Trees whose values add up, with all of their nodes side by side in arrays.
 *
 * <p>A node asks for a feature and goes on to another node, or asks for none, by -1, and has a
 * value. The fields have the names that they have in the text of a model.
 */
@JsonAutoDetect(fieldVisibility = JsonAutoDetect.Visibility.ANY)
final class BoostedTrees {
    // A process meets the models of its pipelines and no others.
    private static final Map<String, BoostedTrees> READ = new ConcurrentHashMap<>();
    private static final ObjectMapper JSON = new ObjectMapper();

    private int trees;
    private boolean logistic;
    private double initial;
    private int[] root;
    private int[] feature;
    private double[] threshold;
    private int[] left;
    private int[] right;
    private double[] value;

    private BoostedTrees() {}

    /** Gives the trees of a text; each text is read once in a JVM. */
    static BoostedTrees of(String text) {
        return READ.computeIfAbsent(text, BoostedTrees::read);
    }

    private static BoostedTrees read(String text) {
        try {
            return JSON.readValue(text, BoostedTrees.class);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("this is not a model: " + e.getOriginalMessage(), e);
        }
    }

    /**
     * Scores one row.
     *
     * @param told the row's features, by the numbers that the nodes have for them; NaN is at most
     *     no threshold, and so goes right
     */
    double score(double[] told) {
        double sum = initial;
        for (int node : root) {
            int at = node;
            while (feature[at] >= 0) {
                at = told[feature[at]] <= threshold[at] ? left[at] : right[at];
            }
            sum += value[at];
        }
        // StrictMath gives the same bits on every machine: a batch that is repeated elsewhere
        // writes what it wrote before.
        return logistic ? 1 / (1 + StrictMath.exp(-sum)) : sum;
    }

    @Override
    public String toString() {
        return trees + " trees";
    }
}
