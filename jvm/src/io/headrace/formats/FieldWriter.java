package io.headrace.formats;

import java.io.IOException;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

/**
 * Writes a value of one type.
 *
 * @param <O> what is written to
 */
interface FieldWriter<O> {
    /**
     * Writes one value.
     *
     * @param output where to
     * @param values a row or a list
     * @param position where in it the value stands; it is not null there
     */
    void write(O output, SpecializedGetters values, int position) throws IOException;
}
