package io.headrace.operators;

import io.headrace.formats.Call;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/**
 * Turns rows into bytes and back, for operators that pass rows on as they came.
 *
 * <p>A row that is not turned into objects costs less and comes out exactly as it went in; and as
 * bytes have no event time to Spark, it drops no row that is late. Public, as the code that Spark
 * generates calls it.
 */
public final class Parcel implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Where Spark notes, in a column's metadata, that the column is the event time. */
    private static final String WATERMARK = "spark.watermarkDelayMs";

    private static final long HASH_SEED = 42;

    private final StructType schema;
    private transient UnsafeProjection projection;

    public Parcel(StructType schema) {
        this.schema = unmarked(schema);
    }

    /** Packs whole rows, which have the columns that this parcel was made for. */
    public Column packed(Dataset<Row> rows) {
        List<Column> all = new ArrayList<>();
        for (String name : rows.columns()) {
            all.add(rows.col(quoted(name)));
        }
        Column whole = functions.struct(all.toArray(Column[]::new));
        return Call.of(this, "pack", DataTypes.BinaryType, whole);
    }

    /**
     * Packs a struct into bytes, as a column.
     *
     * @param payload a struct whose types are those of the schema
     * @param schema its fields as Spark's JSON
     */
    public static Column column(Column payload, String schema) {
        StructType type = (StructType) DataType.fromJson(schema);
        return Call.of(new Parcel(type), "pack", DataTypes.BinaryType, payload);
    }

    /** Quotes a name, as Spark would read a dot in it as an access to a nested field. */
    public static String quoted(String name) {
        return "`" + name.replace("`", "``") + "`";
    }

    /** The columns, none of them marked as the event time. */
    public StructType schema() {
        return schema;
    }

    /** Gives a row's bytes. */
    public byte[] pack(InternalRow row) {
        return projected(row).copy().getBytes();
    }

    /** Gives the row of some bytes, without copying them. */
    public UnsafeRow unpack(byte[] bytes) {
        UnsafeRow row = new UnsafeRow(schema.length());
        row.pointTo(bytes, bytes.length);
        return row;
    }

    /** Gives the row of some bytes, or null where there are none. */
    public UnsafeRow unpackIfAny(byte[] bytes) {
        return bytes == null ? null : unpack(bytes);
    }

    /**
     * Gives the bytes of a row that is a key: its hash, then the row.
     *
     * <p>Spark sorts rows to group them, by the first eight bytes of the key as long as those differ.
     * A row begins with what of it is null, which is alike in all.
     */
    public byte[] packKey(InternalRow row) {
        UnsafeRow packed = projected(row);
        int length = packed.getSizeInBytes();
        byte[] key = new byte[Long.BYTES + length];
        long hash =
                XXH64.hashUnsafeBytes(
                        packed.getBaseObject(), packed.getBaseOffset(), length, HASH_SEED);
        Platform.putLong(key, Platform.BYTE_ARRAY_OFFSET, hash);
        packed.writeToMemory(key, Platform.BYTE_ARRAY_OFFSET + Long.BYTES);
        return key;
    }

    /** Gives the hash that the bytes of a key begin with. */
    public static long hashOf(byte[] key) {
        return Platform.getLong(key, Platform.BYTE_ARRAY_OFFSET);
    }

    /** Gives the row of a key's bytes, or null where there are none. */
    public UnsafeRow unpackKeyIfAny(byte[] key) {
        if (key == null) {
            return null;
        }
        UnsafeRow row = new UnsafeRow(schema.length());
        row.pointTo(key, Platform.BYTE_ARRAY_OFFSET + Long.BYTES, key.length - Long.BYTES);
        return row;
    }

    @Override
    public String toString() {
        return schema.simpleString();
    }

    /** Gives a row as bytes, in a buffer that the next one is written into as well. */
    private UnsafeRow projected(InternalRow row) {
        if (projection == null) {
            projection = UnsafeProjection.create(schema);
        }
        return projection.apply(row);
    }

    private static StructType unmarked(StructType marked) {
        StructType plain = new StructType();
        for (StructField field : marked.fields()) {
            Metadata kept =
                    new MetadataBuilder().withMetadata(field.metadata()).remove(WATERMARK).build();
            plain = plain.add(field.name(), field.dataType(), field.nullable(), kept);
        }
        return plain;
    }
}
