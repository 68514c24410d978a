package io.headrace.sinks.opensearch;

import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.OutgoingRow;
import io.headrace.delivery.SinkLane;
import io.headrace.sinks.Patience;
import java.util.UUID;

/** One lane of an OpenSearch sink. */
final class OpenSearchLane implements SinkLane {
    private final OpenSearchTerms terms;
    private final int number;
    private final String token = UUID.randomUUID().toString();
    private final Client client;
    private final Patience patience;
    private final Ledger ledger;
    private Bulk bulk;

    OpenSearchLane(OpenSearchTerms terms, int number) {
        this.terms = terms;
        this.number = number;
        this.client = new Client(terms);
        this.patience =
                new Patience(terms.sink(), terms.address().toString(), Patience.IN_LANE);
        this.ledger = new Ledger(terms, client, patience);
        this.bulk = new Bulk(terms);
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
        ledger.commit(number, token, record);
    }

    @Override
    public void close() {
        // The connections are all lanes', and are kept.
    }

    private void send() {
        Bulk full = bulk;
        bulk = new Bulk(terms);
        patience.until(
                () -> {
                    // What a writer sends that was fenced is older than what is there, and not
                    // taken. Only what was deleted could come back, once OpenSearch has forgotten
                    // its version, so nothing is sent long after the lane was seen to be held.
                    ledger.requireOwner(number, token);
                    return full.send(client);
                });
    }
}
