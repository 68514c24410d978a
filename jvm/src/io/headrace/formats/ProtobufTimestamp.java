package io.headrace.formats;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import java.io.IOException;

/** Protobuf's own timestamp: a message of seconds and nanoseconds. */
final class ProtobufTimestamp {
    private static final long MICROS = 1_000_000L;
    private static final int NANOS = 1_000_000_000;
    // Those of the years 0001 and 9999, the range that the type's own description gives.
    private static final long EARLIEST = -62_135_596_800L;
    private static final long LATEST = 253_402_300_799L;
    private static final int SECONDS_FIELD = 1;
    private static final int NANOS_FIELD = 2;

    private ProtobufTimestamp() {}

    static Object read(CodedInputStream input) throws IOException, Unreadable {
        int outer = input.pushLimit(input.readRawVarint32());
        long seconds = 0;
        int nanos = 0;
        int tag;
        while ((tag = input.readTag()) != 0) {
            if (tag == SECONDS_FIELD << 3) {
                seconds = input.readInt64();
            } else if (tag == NANOS_FIELD << 3) {
                nanos = input.readInt32();
            } else {
                input.skipField(tag);
            }
        }
        input.popLimit(outer);
        if (seconds < EARLIEST || seconds > LATEST || nanos < 0 || nanos >= NANOS) {
            throw new Unreadable(
                    Reason.TIMESTAMP_UNREADABLE,
                    seconds + " seconds and " + nanos + " nanoseconds are outside of its range");
        }
        return seconds * MICROS + nanos / 1000;
    }

    static void write(CodedOutputStream output, long micros) throws IOException {
        long seconds = Math.floorDiv(micros, MICROS);
        int nanos = (int) Math.floorMod(micros, MICROS) * 1000;
        output.writeUInt32NoTag(
                CodedOutputStream.computeInt64Size(SECONDS_FIELD, seconds)
                        + CodedOutputStream.computeInt32Size(NANOS_FIELD, nanos));
        output.writeInt64(SECONDS_FIELD, seconds);
        output.writeInt32(NANOS_FIELD, nanos);
    }
}
