package io.headrace.sinks.redis;

import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.Refusal;
import io.headrace.delivery.RowSink;
import io.headrace.delivery.SinkLane;
import io.headrace.delivery.SinkTerms;
import io.headrace.sinks.ServerCalls;
import io.headrace.sinks.Records;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import redis.clients.jedis.Protocol;

/** Redis as a sink: a hash or a JSON text for each key. */
public final class RedisSink implements RowSink {
    private static final long serialVersionUID = 1L;

    private static final int OLDEST = 5;
    private static final String RECORD = ".record";
    private static final Set<String> ORDERED =
            Set.of("byte", "short", "integer", "long", "timestamp", "date");

    private final RedisTerms terms;

    /**
     * Opens nothing.
     *
     * @throws NoClassDefFoundError if Redis' client is not on the class path, now and not in the
     *     first batch
     */
    public RedisSink(SinkTerms terms) {
        this.terms = new RedisTerms(terms);
        Objects.requireNonNull(Protocol.Command.EVALSHA);
    }

    /** Refuses a server on which rows or the ledger would not be safe. */
    @Override
    public void prepare() {
        requireOrderedVersion();
        Map<String, String> found = info();
        if (found.getOrDefault("cluster_enabled", "0").equals("1")) {
            throw unfit(
                    "is a Redis Cluster",
                    "it spreads keys over servers, and a script cannot reach rows and ledger on "
                            + "different ones.",
                    "name a single server, or a primary with replicas.");
        }
        if (found.getOrDefault("role", "master").equals("slave")) {
            throw unfit("is a replica", "it takes no writes.", "name its primary.");
        }
        String version = found.getOrDefault("redis_version", "0");
        if (Integer.parseInt(version.split("\\.")[0]) < OLDEST) {
            throw unfit(
                    "is Redis " + version,
                    "its scripts cannot be relied on when it fails over.",
                    "use Redis " + OLDEST + " or newer.");
        }
        String policy = found.getOrDefault("maxmemory_policy", "noeviction");
        if (!found.getOrDefault("maxmemory", "0").equals("0") && policy.startsWith("allkeys")) {
            throw unfit(
                    "drops keys when it is full",
                    "its maxmemory-policy is " + policy + ": rows would vanish unseen, and the "
                            + "ledger with them.",
                    "set the policy to noeviction, or to one of volatile-* with a ttl.");
        }
    }

    /** The type of a column may have been known to Spark alone until now. */
    private void requireOrderedVersion() {
        String type = terms.versionType();
        if (type != null && !ORDERED.contains(type)) {
            throw Refusal.of(
                    "sink-mismatch",
                    "\"" + terms.version() + "\" of type " + type + " cannot be a version",
                    "Redis compares versions as texts, which orders whole numbers, times and days "
                            + "alone.",
                    "use the time of the event, or a number that counts its changes.");
        }
    }

    /** Nothing: keys have no id, and a server that loses them loses the ledger as well. */
    @Override
    public Map<String, String> targets() {
        return Map.of();
    }

    @Override
    public Map<Integer, LedgerRecord> ledgers() {
        try (RedisLink link = link()) {
            return parsed(records(link));
        }
    }

    @Override
    public void exchange(Map<Integer, LedgerRecord> seen, Map<Integer, LedgerRecord> next) {
        try (RedisLink link = link()) {
            // The script compares bytes, and one record can be written in several ways.
            Map<Integer, byte[]> held = records(link);
            List<byte[]> arguments = new ArrayList<>();
            arguments.add(bytes(held.size()));
            held.forEach((lane, record) -> add(arguments, lane, record));
            next.forEach((lane, record) -> add(arguments, lane, record.toBytes()));
            boolean isSame = Records.json(seen).equals(Records.json(parsed(held)));
            if (!isSame || !isDone(link.run(Script.EXCHANGE, ledger(), arguments))) {
                throw Refusal.of(
                        "writer-fenced",
                        "the ledger of sink \"" + terms.sink() + "\" has changed meanwhile",
                        "another driver writes into the sink.",
                        "find the other driver; stop it before you start this one again.");
            }
        }
    }

    @Override
    public SinkLane lane(int number) {
        return new RedisLane(terms, number);
    }

    /** A repeated batch sets the same keys to the same rows; there is nothing to compare. */
    @Override
    public boolean isVersioned() {
        return false;
    }

    private Map<Integer, byte[]> records(RedisLink link) {
        Map<Integer, byte[]> found = new TreeMap<>();
        List<?> fields = (List<?>) link.command(Protocol.Command.HGETALL, terms.ledger());
        for (int at = 0; at < fields.size(); at += 2) {
            String field = text(fields.get(at));
            if (field.endsWith(RECORD)) {
                String lane = field.substring(0, field.length() - RECORD.length());
                found.put(Integer.parseInt(lane), (byte[]) fields.get(at + 1));
            }
        }
        return found;
    }

    private static Map<Integer, LedgerRecord> parsed(Map<Integer, byte[]> records) {
        Map<Integer, LedgerRecord> found = new TreeMap<>();
        records.forEach((lane, text) -> found.put(lane, LedgerRecord.parse(text)));
        return found;
    }

    private static void add(List<byte[]> arguments, int lane, byte[] record) {
        arguments.add(bytes(lane));
        arguments.add(record);
    }

    private static boolean isDone(List<?> answer) {
        return (Long) answer.get(0) == 1L;
    }

    private List<byte[]> ledger() {
        return List.of(terms.ledger());
    }

    private RedisLink link() {
        return new RedisLink(terms, ServerCalls.AT_START);
    }

    private Map<String, String> info() {
        Map<String, String> found = new HashMap<>();
        try (RedisLink link = link()) {
            String told = text(link.command(Protocol.Command.INFO));
            for (String line : told.split("\r?\n")) {
                int colon = line.indexOf(':');
                if (colon > 0) {
                    found.put(line.substring(0, colon), line.substring(colon + 1));
                }
            }
        }
        return found;
    }

    private Refusal unfit(String what, String why, String hint) {
        return Refusal.of(
                "sink-mismatch",
                "sink \"" + terms.sink() + "\" cannot write to " + terms.address()
                        + ", which " + what,
                why,
                hint);
    }

    private static String text(Object bytes) {
        return new String((byte[]) bytes, StandardCharsets.UTF_8);
    }

    private static byte[] bytes(int number) {
        return Integer.toString(number).getBytes(StandardCharsets.US_ASCII);
    }
}
