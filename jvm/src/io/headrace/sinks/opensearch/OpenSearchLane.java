package io.headrace.sinks.opensearch;

import io.headrace.delivery.Failpoint;
import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.OutgoingRow;
import io.headrace.delivery.SinkLane;
import io.headrace.sinks.ServerCalls;
import java.util.Optional;
import java.util.UUID;

/** One lane of an OpenSearch sink. */
final class OpenSearchLane implements SinkLane {
    private static final String SYSTEM = "opensearch";

    private final OpenSearchTerms terms;
    private final int number;
    private final String token = UUID.randomUUID().toString();
    private final Client client;
    private final ServerCalls calls;
    private final Ledger ledger;
    private final Flights flights = new Flights();
    private Bulk bulk;

    OpenSearchLane(OpenSearchTerms terms, int number) {
        this.terms = terms;
        this.number = number;
        this.client = new Client(terms);
        this.calls =
                new ServerCalls(terms.sink(), terms.address().toString(), terms.lanePatience());
        this.ledger = new Ledger(terms, client, calls);
        this.bulk = new Bulk(terms);
    }

    @Override
    public Optional<LedgerRecord> glance() {
        return Optional.ofNullable(ledger.records().get(number));
    }

    @Override
    public LedgerRecord claim() {
        return ledger.claim(number, token);
    }

    @Override
    public void write(OutgoingRow row) {
        bulk.add(row);
        if (bulk.isFull()) {
            send();
        }
    }

    @Override
    public void commit(LedgerRecord record) {
        if (!bulk.isEmpty()) {
            send();
        }
        flights.landAll();
        Failpoint.reach(SYSTEM, "rows-flushed");
        Failpoint.reachDuring(SYSTEM, "commit-in-doubt");
        ledger.commit(number, token, record);
        Failpoint.reach(SYSTEM, "record-sent");
    }

    @Override
    public void interrupt() {
        calls.end();
    }

    @Override
    public void close() {
        // The connections are all lanes', and are kept.
        flights.abandon();
    }

    private void send() {
        Bulk full = bulk;
        bulk = new Bulk(terms);
        flights.begin(() -> calls.until(() -> sent(full)));
    }

    private int sent(Bulk full) {
        // What a writer sends that was fenced is older than what is there, and not taken. Only what
        // was deleted could come back, once OpenSearch has forgotten its version, so nothing is
        // sent long after the lane was seen to be held.
        ledger.requireOwner(number, token);
        return full.send(client);
    }
}
