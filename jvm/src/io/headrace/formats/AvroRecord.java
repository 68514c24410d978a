package io.headrace.formats;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Reads the writer's record as an event: fields are found by name, in the writer's order.
 *
 * <p>A field that the event does not have is passed over. One that the writer does not have is
 * null, or makes every value of that schema unreadable if the event requires it. Records are not
 * compared by name, as teams name the same fact in their own languages.
 */
final class AvroRecord implements AvroValue {
    private static final int PASSED_OVER = -1;

    private final StructField[] fields;
    private final List<Schema> written = new ArrayList<>();
    private final List<AvroValue> values = new ArrayList<>();
    private final List<Integer> positions = new ArrayList<>();

    AvroRecord(Schema writer, StructType event) throws Unreadable {
        fields = event.fields();
        Map<String, Integer> byName = new HashMap<>();
        for (int i = 0; i < fields.length; i++) {
            byName.put(fields[i].name(), i);
        }
        for (Schema.Field field : writer.getFields()) {
            Integer position = byName.remove(field.name());
            written.add(field.schema());
            positions.add(position == null ? PASSED_OVER : position);
            values.add(position == null ? null : value(field.schema(), fields[position]));
        }
        for (Integer absent : byName.values()) {
            if (!fields[absent].nullable()) {
                String fault = "the writer's schema does not have it";
                throw new Unreadable(Reason.SCHEMA_NOT_COMPATIBLE, fault)
                        .inField(fields[absent].name());
            }
        }
    }

    private static AvroValue value(Schema writer, StructField field) throws Unreadable {
        try {
            return AvroTypes.of(writer, field.dataType(), field.metadata(), field.nullable());
        } catch (Unreadable e) {
            throw e.inField(field.name());
        }
    }

    @Override
    public Object read(AvroInput input) throws IOException, Unreadable {
        return new GenericInternalRow(fields(input));
    }

    Object[] fields(AvroInput input) throws IOException, Unreadable {
        Object[] found = new Object[fields.length];
        for (int i = 0; i < written.size(); i++) {
            int position = positions.get(i);
            if (position == PASSED_OVER) {
                GenericDatumReader.skip(written.get(i), input.decoder());
                continue;
            }
            try {
                found[position] = values.get(i).read(input);
            } catch (Unreadable e) {
                throw e.inField(fields[position].name());
            }
        }
        return found;
    }
}
