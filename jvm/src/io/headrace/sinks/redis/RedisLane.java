package io.headrace.sinks.redis;

import io.headrace.delivery.Failpoint;
import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.OutgoingRow;
import io.headrace.delivery.Refusal;
import io.headrace.delivery.SinkLane;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import redis.clients.jedis.Protocol;

/**
 * One lane of a Redis sink.
 *
 * <p>Every chunk of rows, and the record, is refused by Redis itself once another has claimed the
 * lane. A batch that was written in part and comes again sets the same keys to the same rows.
 */
final class RedisLane implements SinkLane {
    private static final String SYSTEM = "redis";

    /**
     * How much is gathered before it is sent. Up to here each key is written once in a batch;
     * beyond, a repeated batch may show a key as it was within the batch before it ends.
     */
    private static final long ROUND_BYTES = 48L * 1024 * 1024;

    private final RedisTerms terms;
    private final byte[] lane;
    private final byte[] token = ascii(UUID.randomUUID().toString());
    private final RedisLink link;
    private final Changes changes;
    private long epoch;

    RedisLane(RedisTerms terms, int number) {
        this.terms = terms;
        this.lane = ascii(Integer.toString(number));
        this.link = new RedisLink(terms, terms.lanePatience());
        this.changes = new Changes(terms);
    }

    @Override
    public Optional<LedgerRecord> glance() {
        Object found = link.command(Protocol.Command.HGET, terms.ledger(), recordField());
        return Optional.ofNullable((byte[]) found).map(LedgerRecord::parse);
    }

    @Override
    public LedgerRecord claim() {
        List<?> claimed = link.run(Script.CLAIM, List.of(terms.ledger()), List.of(lane, token));
        epoch = (Long) claimed.get(0);
        link.bind();
        byte[] record = (byte[]) claimed.get(1);
        return record == null ? null : LedgerRecord.parse(record);
    }

    @Override
    public void write(OutgoingRow row) {
        changes.add(row);
        if (changes.bytes() > ROUND_BYTES) {
            send();
        }
    }

    @Override
    public void commit(LedgerRecord record) {
        send();
        Failpoint.reach(SYSTEM, "rows-flushed");
        List<byte[]> arguments = List.of(lane, token, record.toBytes());
        Failpoint.reachDuring(SYSTEM, "commit-in-doubt");
        requireOwned(link.run(Script.COMMIT, List.of(terms.ledger()), arguments));
        Failpoint.reach(SYSTEM, "record-sent");
    }

    @Override
    public void interrupt() {
        link.interrupt();
    }

    @Override
    public void close() {
        link.close();
    }

    private void send() {
        Iterator<Changes.Change> rows = changes.all().iterator();
        link.runAll(
                Script.APPLY,
                () -> rows.hasNext() ? Chunk.of(rows, terms, lane, token) : null,
                this::requireOwned);
        changes.clear();
    }

    private byte[] recordField() {
        return ascii(new String(lane, StandardCharsets.US_ASCII) + ".record");
    }

    private void requireOwned(List<?> answer) {
        if ((Long) answer.get(0) == 1L) {
            return;
        }
        long holder = (Long) answer.get(1);
        if (holder > epoch) {
            throw Refusal.of(
                    "writer-fenced",
                    "this writer was fenced: another one has taken over sink \"" + terms.sink()
                            + "\"",
                    "Redis lets only the newest holder of a lane write; this one has written "
                            + "nothing since.",
                    "find the other driver; stop it before you start this one again.");
        }
        // The holder of a lane can only be a later one, unless Redis itself went back.
        throw Refusal.of(
                "ledger-missing",
                "the ledger of sink \"" + terms.sink() + "\" was lost while a batch was written",
                "Redis has forgotten who writes: it was emptied, has restarted without its data, "
                        + "or a replica that lacked the last writes took over.",
                "start again: what the ledger then ends with decides. If rows were lost with it, "
                        + "rebuild the sink: empty its keys and begin with a new checkpoint.");
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
