package io.headrace.formats;

import com.google.protobuf.CodedInputStream;
import java.io.IOException;
import org.apache.spark.sql.types.StructType;

/**
 * Reads Protobuf behind a wire header and the path to the message's type in its file.
 *
 * <p>Protobuf evolves by field numbers, so an event is read by its own numbers whatever schema
 * wrote it. Of that schema it is only asked that the registry knows it as Protobuf.
 */
final class ProtobufReader implements Reader {
    private final Writers<RegisteredSchema> writers;
    private final ProtobufMessage event;

    ProtobufReader(StructType schema, Registry registry) {
        writers = new Writers<>(registry, "PROTOBUF", known -> known);
        event = new ProtobufMessage(schema);
    }

    @Override
    public Object[] read(byte[] bytes) throws Unreadable {
        writers.of(bytes);
        int length = bytes.length - WireHeader.LENGTH;
        CodedInputStream input = CodedInputStream.newInstance(bytes, WireHeader.LENGTH, length);
        try {
            requireFirstMessage(input);
            return event.fields(input);
        } catch (IOException | RuntimeException e) {
            // Never because the bytes could not be had: they are in memory.
            throw new Unreadable(Reason.PROTOBUF_MALFORMED, String.valueOf(e.getMessage()));
        }
    }

    /** The path is a list of positions; a lone zero is short for the file's first message. */
    private static void requireFirstMessage(CodedInputStream input)
            throws IOException, Unreadable {
        int count = input.readSInt32();
        int first = count == 1 ? input.readSInt32() : count;
        if (first != 0) {
            throw new Unreadable(
                    Reason.SCHEMA_NOT_COMPATIBLE,
                    "its message is not the first one of the writer's schema");
        }
    }
}
