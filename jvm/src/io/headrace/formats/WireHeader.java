package io.headrace.formats;

import java.nio.ByteBuffer;

/** Confluent's wire header: a zero byte, then the schema's id in four. */
final class WireHeader {
    static final int LENGTH = 5;

    private WireHeader() {}

    /** The id of the schema that bytes were written by. */
    static int id(byte[] bytes) throws Unreadable {
        if (bytes.length < LENGTH) {
            throw new Unreadable(
                    Reason.WIRE_HEADER_MISSING,
                    "a header of 5 bytes is required, only " + bytes.length + " came");
        }
        if (bytes[0] != 0) {
            throw new Unreadable(
                    Reason.WIRE_HEADER_MISSING,
                    String.format("the first byte has to be 0x00, 0x%02x came", bytes[0]));
        }
        return ByteBuffer.wrap(bytes).getInt(1);
    }

    static byte[] of(int id) {
        return ByteBuffer.allocate(LENGTH).putInt(1, id).array();
    }
}
