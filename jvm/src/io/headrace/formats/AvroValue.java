package io.headrace.formats;

import java.io.IOException;

/** Reads a value of one of the writer's types as a value of one of the event's. */
interface AvroValue {
    /** Reads the value at the input's position, in Spark's internal form. */
    Object read(AvroInput input) throws IOException, Unreadable;
}
