package io.headrace.formats;

import java.util.ArrayList;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.Schema.Type;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructType;

/**
 * Finds how a writer's type is read as an event's type.
 *
 * <p>The rules are those of Avro's schema resolution, with two differences. They are applied to
 * each value and not to the schema as a whole: a union of null and a number is read as a required
 * number until a null comes. And logical types count, which Avro's own resolution leaves aside:
 * milliseconds are not taken for microseconds.
 */
final class AvroTypes {
    private AvroTypes() {}

    /**
     * Finds the reader for a pair of types.
     *
     * @throws Unreadable no value of the writer's type can be one of the event's
     */
    static AvroValue of(Schema writer, DataType type, Metadata metadata, boolean nullable)
            throws Unreadable {
        if (writer.getType() == Type.UNION) {
            return union(writer, type, metadata, nullable);
        }
        if (writer.getType() == Type.NULL) {
            return nothing(nullable);
        }
        if (type instanceof StructType struct && writer.getType() == Type.RECORD) {
            return new AvroRecord(writer, struct);
        }
        if (type instanceof ArrayType list && writer.getType() == Type.ARRAY) {
            return list(
                    of(writer.getElementType(), list.elementType(), metadata, list.containsNull()));
        }
        return AvroScalars.of(writer, type, metadata);
    }

    private static AvroValue nothing(boolean nullable) {
        return input -> {
            if (!nullable) {
                throw new Unreadable(Reason.FIELD_NULL, "it is null");
            }
            return null;
        };
    }

    private static AvroValue union(
            Schema writer, DataType type, Metadata metadata, boolean nullable) throws Unreadable {
        List<AvroValue> branches = new ArrayList<>();
        Unreadable last = null;
        boolean readable = false;
        for (Schema branch : writer.getTypes()) {
            try {
                branches.add(of(branch, type, metadata, nullable));
                readable |= branch.getType() != Type.NULL;
            } catch (Unreadable e) {
                last = e;
                branches.add(refusing(e));
            }
        }
        if (!readable && last != null) {
            throw last;
        }
        return input -> {
            int branch = input.decoder().readIndex();
            if (branch < 0 || branch >= branches.size()) {
                throw new Unreadable(Reason.AVRO_MALFORMED, "its union has no branch " + branch);
            }
            return branches.get(branch).read(input);
        };
    }

    private static AvroValue refusing(Unreadable fault) {
        Reason reason = fault.reason();
        String detail = fault.detail();
        return input -> {
            throw new Unreadable(reason, detail);
        };
    }

    private static AvroValue list(AvroValue element) {
        return input -> {
            List<Object> elements = new ArrayList<>();
            for (int left = input.block(true); left > 0; left = input.block(false)) {
                for (int i = 0; i < left; i++) {
                    try {
                        elements.add(element.read(input));
                    } catch (Unreadable e) {
                        throw e.inElement(elements.size());
                    }
                }
            }
            return new GenericArrayData(elements.toArray());
        };
    }
}
