package io.headrace.formats;

/** Reads the bytes of one event. An instance belongs to one task and may keep buffers. */
interface Reader {
    /**
     * Reads one event.
     *
     * @param bytes the whole key or value, never null
     * @return the fields in the order of the schema, in Spark's internal form, in a new array
     * @throws Unreadable the bytes are not such an event
     */
    Object[] read(byte[] bytes) throws Unreadable;
}
