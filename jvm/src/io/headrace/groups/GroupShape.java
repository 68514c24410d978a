package io.headrace.groups;

import io.headrace.groups.GroupTerms.Function;
import io.headrace.groups.GroupTerms.Wanted;
import io.headrace.operators.Parcel;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * What the totals of a group consist of: its terms, and the types of what is put together.
 *
 * @param terms what was declared
 * @param values the values of a row
 * @param ordered of each value, how it is kept by itself; null if it is not
 */
record GroupShape(GroupTerms terms, StructType values, Values[] ordered) implements Serializable {
    private static final long serialVersionUID = 1L;

    static GroupShape of(GroupTerms terms, StructType values) {
        Values[] ordered = new Values[values.length()];
        for (Wanted wanted : terms.totals()) {
            if (wanted.function().isOfValues()) {
                ordered[wanted.value()] = new Values(values.fields()[wanted.value()]);
            }
        }
        return new GroupShape(terms, values, ordered);
    }

    /** Stands for the declaration and the types: state of another one cannot be gone on with. */
    long number() {
        return terms.declared() * 31 + values.catalogString().hashCode();
    }

    DataType type(int value) {
        return values.fields()[value].dataType();
    }

    boolean isSummed(int value) {
        return terms.totals().stream()
                .anyMatch(
                        total ->
                                total.value() == value
                                        && (total.function() == Function.SUM
                                                || total.function() == Function.AVG));
    }

    /** The columns of what is told: the totals, in order. */
    StructType told() {
        StructType told = new StructType();
        List<Wanted> totals = terms.totals();
        for (int i = 0; i < totals.size(); i++) {
            told = told.add("_" + i, type(totals.get(i)));
        }
        return told;
    }

    /** The type of a total. */
    DataType type(Wanted total) {
        switch (total.function()) {
            case SUM:
                return ExactSum.sumType(type(total.value()));
            case AVG:
                return ExactSum.meanType(type(total.value()));
            case MIN:
            case MAX:
                return type(total.value());
            default:
                return DataTypes.LongType;
        }
    }

    Parcel parcel() {
        return new Parcel(told());
    }
}
