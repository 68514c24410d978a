package io.headrace.windows;

import io.headrace.operators.Arrivals;
import io.headrace.operators.Parcel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.Row;
import scala.collection.Iterator;

/** Windows of many keys together: Spark groups rows by a bucket of keys, not by the key. */
abstract class BucketOperator extends WindowOperator {
    /** How many buckets there are, unless told otherwise. State is found by it. */
    static final int BUCKETS = 4096;

    private static final long serialVersionUID = 1L;

    /** Where columns are in the rows of a group. */
    private static final int EVENT = 0;

    private static final int KEY = 1;

    /** An event and its key; those of a key are side by side, and in their order. */
    protected record Keyed(byte[] key, Arrivals.Arrival event) {
        static final Comparator<Keyed> ORDER =
                Comparator.comparing(Keyed::key, Arrays::compare)
                        .thenComparing(Keyed::event, Arrivals.ORDER);
    }

    BucketOperator(WindowTerms terms, Aggregation aggregation, Parcel parcel) {
        super(terms, aggregation, parcel);
    }

    /** Gives events in order; rows that belong to no key are set apart. */
    protected List<Keyed> inOrder(Iterator<Row> rows, PaneRows out) {
        List<Keyed> events = new ArrayList<>();
        while (rows.hasNext()) {
            Row row = rows.next();
            byte[] bytes = row.getAs(EVENT);
            if (row.isNullAt(KEY)) {
                setApart(bytes, out);
            } else {
                events.add(new Keyed(row.getAs(KEY), arrivals.arrival(bytes)));
            }
        }
        events.sort(Keyed.ORDER);
        return events;
    }
}
