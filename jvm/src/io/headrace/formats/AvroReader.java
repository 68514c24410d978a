package io.headrace.formats;

import java.io.EOFException;
import java.io.IOException;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.StructType;

/** Reads Avro behind a wire header, each value by the schema it was written by. */
final class AvroReader implements Reader {
    private final Writers<AvroRecord> writers;
    private final AvroInput input = new AvroInput();

    AvroReader(StructType event, Registry registry) {
        writers = new Writers<>(registry, "AVRO", schema -> record(schema, event));
    }

    @Override
    public Object[] read(byte[] bytes) throws Unreadable {
        AvroRecord record = writers.of(bytes);
        input.open(bytes, WireHeader.LENGTH);
        try {
            Object[] fields = record.fields(input);
            int left = input.remaining();
            if (left > 0) {
                throw new Unreadable(
                        Reason.AVRO_MALFORMED, left + " bytes are left after the last field");
            }
            return fields;
        } catch (EOFException e) {
            throw new Unreadable(Reason.AVRO_MALFORMED, "the bytes end too early");
        } catch (IOException | RuntimeException e) {
            // Avro's decoder refuses sizes and numbers with exceptions of many kinds.
            throw new Unreadable(Reason.AVRO_MALFORMED, String.valueOf(e.getMessage()));
        }
    }

    private static AvroRecord record(RegisteredSchema registered, StructType event)
            throws Unreadable {
        if (registered.references()) {
            throw new Unreadable(
                    Reason.SCHEMA_NOT_COMPATIBLE,
                    "the writer's schema refers to others, which are not read");
        }
        Schema writer;
        try {
            writer = new Schema.Parser().parse(registered.text());
        } catch (AvroRuntimeException e) {
            throw new Unreadable(
                    Reason.SCHEMA_NOT_COMPATIBLE,
                    "the writer's schema is not Avro: " + e.getMessage());
        }
        if (writer.getType() != Schema.Type.RECORD) {
            throw new Unreadable(
                    Reason.SCHEMA_NOT_COMPATIBLE,
                    "the writer's schema is of type " + writer.getType().getName() + ", no record");
        }
        return new AvroRecord(writer, event);
    }
}
