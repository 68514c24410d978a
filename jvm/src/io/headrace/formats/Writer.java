package io.headrace.formats;

import org.apache.spark.sql.catalyst.InternalRow;

/** Writes one event as bytes. An instance belongs to one task and may keep buffers. */
interface Writer {
    /**
     * Writes one event.
     *
     * @param row the fields in the order of the schema, never null
     * @return bytes that {@link Reader#read} of the same format gives back as the same fields
     */
    byte[] write(InternalRow row);
}
