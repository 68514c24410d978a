package io.headrace.sinks.redis;

import com.fasterxml.jackson.core.JsonGenerator;
import io.headrace.delivery.Refusal;
import io.headrace.remote.RemoteTable;
import io.headrace.remote.RemoteTerms;
import io.headrace.sinks.Away;
import io.headrace.sinks.ServerAddress;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.StructField;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/** The rows of a keyspace in Redis, as its sink writes them: those of many keys in one go. */
public final class RedisRows implements RemoteTable {
    /** The types whose values a hash holds as JSON has them; all others are texts. */
    private static final Set<String> PLAIN =
            Set.of("boolean", "byte", "short", "integer", "long", "float", "double");

    private final RemoteTerms terms;
    private final ServerAddress address;
    private final boolean isHash;
    private Connection connection;

    public RedisRows(RemoteTerms terms) {
        this.terms = terms;
        this.address = ServerAddress.parse(terms.settings().get("address"));
        this.isHash = terms.settings().get("as").equals("hash");
    }

    @Override
    public Map<String, byte[]> ask(List<String> keys) {
        try {
            if (connection == null) {
                connection = RedisLink.connect(address, terms.timeoutMs(), terms.timeoutMs());
            }
            return isHash ? hashes(keys) : texts(keys);
        } catch (JedisConnectionException problem) {
            close();
            throw new Away(RedisLink.said(problem), problem);
        } catch (JedisDataException said) {
            close();
            if (RedisLink.isForLater(said)) {
                throw new Away("Redis says: " + said.getMessage(), said);
            }
            throw Refusal.of(
                    "remote-refused",
                    "the Redis at " + address + " does not answer what join \"" + terms.name()
                            + "\" asks",
                    "it says: " + said.getMessage(),
                    "see whether the keys hold what the sink wrote, " + terms.settings().get("as")
                            + " or other, and whether the account may read them.");
        }
    }

    @Override
    public void close() {
        Connection open = connection;
        connection = null;
        if (open != null) {
            try {
                open.close();
            } catch (JedisConnectionException gone) {
                // It is closed, which is what was asked for.
            }
        }
    }

    private Map<String, byte[]> texts(List<String> keys) {
        connection.sendCommand(
                Protocol.Command.MGET, keys.stream().map(this::place).toArray(byte[][]::new));
        List<?> values = (List<?>) connection.getOne();
        Map<String, byte[]> found = new HashMap<>();
        for (int i = 0; i < values.size(); i++) {
            if (values.get(i) != null) {
                found.put(keys.get(i), (byte[]) values.get(i));
            }
        }
        return found;
    }

    private Map<String, byte[]> hashes(List<String> keys) {
        for (String key : keys) {
            connection.sendCommand(Protocol.Command.HGETALL, place(key));
        }
        List<Object> answers = connection.getMany(keys.size());
        Map<String, byte[]> found = new HashMap<>();
        for (int i = 0; i < keys.size(); i++) {
            if (answers.get(i) instanceof JedisDataException refused) {
                throw refused;
            }
            List<?> parts = (List<?>) answers.get(i);
            if (!parts.isEmpty()) {
                found.put(keys.get(i), document(parts));
            }
        }
        return found;
    }

    /** Puts the fields of a hash together; what is not among them is null. */
    private byte[] document(List<?> parts) {
        Map<String, String> fields = new HashMap<>();
        for (int i = 0; i < parts.size(); i += 2) {
            fields.put(text(parts.get(i)), text(parts.get(i + 1)));
        }
        ByteArrayOutputStream document = new ByteArrayOutputStream();
        try (JsonGenerator json = RowFields.writer(document)) {
            json.writeStartObject();
            for (StructField field : terms.row().fields()) {
                String value = fields.get(field.name());
                if (value == null) {
                    continue;
                }
                json.writeFieldName(field.name());
                if (isPlain(field, value)) {
                    json.writeRawValue(value);
                } else {
                    json.writeString(value);
                }
            }
            json.writeEndObject();
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
        return document.toByteArray();
    }

    private static boolean isPlain(StructField field, String value) {
        String type = field.dataType().typeName();
        // Numbers that are none have a name, which JSON has as a text.
        boolean isNamed = value.endsWith("NaN") || value.endsWith("Infinity");
        return PLAIN.contains(type) && !isNamed || type.equals("struct") || type.equals("array");
    }

    private byte[] place(String key) {
        return (terms.settings().get("keyspace") + ":" + key).getBytes(StandardCharsets.UTF_8);
    }

    private static String text(Object bytes) {
        return new String((byte[]) bytes, StandardCharsets.UTF_8);
    }
}
