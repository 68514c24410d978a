package io.headrace.formats;

import java.io.EOFException;
import java.io.IOException;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/**
 * Avro's decoder over one value, which believes no length that the value cannot hold.
 *
 * <p>The decoder itself would first make room for the two thousand million bytes that a few broken
 * ones announce.
 */
final class AvroInput {
    private BinaryDecoder decoder;

    void open(byte[] bytes, int start) {
        decoder = DecoderFactory.get().binaryDecoder(bytes, start, bytes.length - start, decoder);
    }

    BinaryDecoder decoder() {
        return decoder;
    }

    int remaining() throws IOException {
        return decoder.inputStream().available();
    }

    /** The bytes of a text or of bytes, which Avro writes alike. */
    byte[] bytes() throws IOException {
        return fixed(decoder.readLong());
    }

    byte[] fixed(long length) throws IOException {
        byte[] bytes = new byte[checked(length)];
        decoder.readFixed(bytes);
        return bytes;
    }

    byte[] text() throws IOException, Unreadable {
        byte[] bytes = bytes();
        Utf8.require(bytes, 0);
        return bytes;
    }

    /** The number of elements of a list's next block, each of which has a byte at least. */
    int block(boolean first) throws IOException {
        return checked(first ? decoder.readArrayStart() : decoder.arrayNext());
    }

    private int checked(long length) throws IOException {
        int remaining = remaining();
        if (length < 0 || length > remaining) {
            throw new EOFException(length + " are announced, and " + remaining + " bytes are left");
        }
        return (int) length;
    }
}
