package io.headrace.formats;

import com.google.protobuf.CodedInputStream;
import java.io.IOException;

/** Reads a field of one type from Protobuf's wire format. */
interface ProtobufValue {
    /** The wire type that values of this type are written with. */
    int wireType();

    /** What a field stands for that was not written, or null where that means it is missing. */
    Object absent();

    /** Reads the value behind a tag, in Spark's internal form. */
    Object read(CodedInputStream input) throws IOException, Unreadable;
}
