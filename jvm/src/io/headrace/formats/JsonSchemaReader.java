package io.headrace.formats;

import org.apache.spark.sql.types.StructType;

/**
 * Reads JSON behind a wire header.
 *
 * <p>The event's own types decide whether a value can be read, not the writer's schema, which may
 * be older or newer. Of that schema it is only asked that the registry knows it as JSON Schema.
 */
final class JsonSchemaReader implements Reader {
    private final Writers<RegisteredSchema> writers;
    private final JsonReader json;

    JsonSchemaReader(StructType schema, Registry registry) {
        writers = new Writers<>(registry, "JSON", known -> known);
        json = new JsonReader(schema, WireHeader.LENGTH);
    }

    @Override
    public Object[] read(byte[] bytes) throws Unreadable {
        writers.of(bytes);
        return json.read(bytes);
    }
}
