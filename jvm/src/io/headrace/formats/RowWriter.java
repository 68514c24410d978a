package io.headrace.formats;

import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Writes the fields of an event.
 *
 * @param <O> what is written to
 */
interface RowWriter<O> {
    /** Writes one event, which is not null. */
    void write(O output, InternalRow row) throws IOException;
}
