package io.headrace.formats;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads a change of a captured table from Debezium's envelope, as JSON without a schema.
 *
 * <p>The row after the change has to be as it was declared. That before it may lack everything but
 * its key, which is all that a database logs unless told otherwise.
 */
final class ChangeReader implements Reader {
    /** The place of a change among all of its database: the order to compare by, see Place. */
    static final String MAJOR = "_major";

    static final String MINOR = "_minor";

    /** Where these are among the columns. */
    static final int MAJOR_AT = 8;

    static final int MINOR_AT = 9;

    private static final String NOT_A_CHANGE = "it has no \"op\" of its own";

    private final CapturedRow before;
    private final CapturedRow after;
    private final UTF8String[] names;

    ChangeReader(StructType row) {
        before = new CapturedRow(row.asNullable());
        after = new CapturedRow(row);
        names = new UTF8String[row.length()];
        for (int i = 0; i < names.length; i++) {
            names[i] = UTF8String.fromString(row.fieldNames()[i]);
        }
    }

    /** The columns of a change, of a table whose rows have these. */
    static StructType schema(StructType row) {
        return new StructType()
                .add("op", DataTypes.StringType)
                .add("before", row.asNullable())
                .add("after", row.asNullable())
                .add("position", DataTypes.LongType)
                .add("transaction", DataTypes.StringType)
                .add("is_snapshot", DataTypes.BooleanType)
                .add("changed_at", DataTypes.TimestampType)
                .add("unchanged", DataTypes.createArrayType(DataTypes.StringType, false))
                .add(MAJOR, DataTypes.LongType)
                .add(MINOR, DataTypes.LongType);
    }

    @Override
    public Object[] read(byte[] bytes) throws Unreadable {
        Change change = new Change();
        JsonReader.parsed(bytes, 0, (parser, first) -> envelope(change, bytes, parser, first));
        return columns(change);
    }

    /** What an envelope holds, as far as it was read. */
    private static final class Change {
        private String op;
        private Object[] before;
        private Object[] after;
        private List<Integer> unsent = List.of();
        private final ChangeOrigin origin = new ChangeOrigin();
        private String transaction;
    }

    private Object[] envelope(Change change, byte[] bytes, JsonParser parser, JsonToken first)
            throws IOException, Unreadable {
        if (first != JsonToken.START_OBJECT) {
            throw new Unreadable(Reason.FIELD_WRONG_TYPE, "a change is an object");
        }
        String name;
        while ((name = parser.nextFieldName()) != null) {
            JsonToken token = parser.nextToken();
            switch (name) {
                case "before" -> change.before = row(before, name, bytes, parser, token);
                case "after" -> {
                    change.after = row(after, name, bytes, parser, token);
                    change.unsent = List.copyOf(after.unsent());
                }
                case "op" -> change.op = parser.getValueAsString();
                case "source" -> change.origin.read(parser, token);
                case "transaction" -> change.transaction = id(parser, token);
                default -> parser.skipChildren();
            }
        }
        return null;
    }

    private static Object[] row(
            CapturedRow reader, String name, byte[] bytes, JsonParser parser, JsonToken token)
            throws IOException, Unreadable {
        try {
            return reader.row(parser, token, bytes);
        } catch (Unreadable e) {
            throw e.inField(name);
        }
    }

    private static String id(JsonParser parser, JsonToken token) throws IOException {
        String id = null;
        if (token == JsonToken.START_OBJECT) {
            String name;
            while ((name = parser.nextFieldName()) != null) {
                parser.nextToken();
                if (name.equals("id")) {
                    id = parser.getValueAsString();
                }
                parser.skipChildren();
            }
        }
        return id;
    }

    private Object[] columns(Change change) throws Unreadable {
        ChangeOrigin origin = change.origin;
        String op = op(change);
        boolean hasRow = op.equals("delete") ? change.before != null : change.after != null;
        if (!hasRow) {
            throw new Unreadable(Reason.FIELD_MISSING, "it has no row, and is a change \"" + op + '"');
        }
        if (origin.changedAt() == null) {
            throw new Unreadable(Reason.FIELD_MISSING, "it has no time").inField("source");
        }
        String transaction = change.transaction == null ? origin.transaction() : change.transaction;
        Object[] unchanged = change.unsent.stream().map(i -> names[i]).toArray();
        return new Object[] {
            UTF8String.fromString(op),
            change.before == null ? null : new GenericInternalRow(change.before),
            change.after == null ? null : new GenericInternalRow(change.after),
            origin.position(),
            UTF8String.fromString(transaction),
            origin.isSnapshot() || op.equals("snapshot"),
            origin.changedAt(),
            new GenericArrayData(unchanged),
            origin.major(),
            origin.minor(),
        };
    }

    private static String op(Change change) throws Unreadable {
        if (change.op == null) {
            throw new Unreadable(Reason.FIELD_MISSING, NOT_A_CHANGE);
        }
        return switch (change.op) {
            case "c" -> "insert";
            case "u" -> "update";
            case "d" -> "delete";
            case "r" -> "snapshot";
            case "t" -> throw new Truncated();
            default -> throw new Unreadable(
                    Reason.ENUM_UNKNOWN, "its \"op\" is " + Shown.quoted(change.op));
        };
    }

    /** The table was emptied at one stroke. */
    static final class Truncated extends Unreadable {
        private static final long serialVersionUID = 1L;

        Truncated() {
            super(Reason.ENUM_UNKNOWN, "the table was truncated");
        }
    }
}
