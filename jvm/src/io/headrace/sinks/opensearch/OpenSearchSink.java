package io.headrace.sinks.opensearch;

import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.SinkLane;
import io.headrace.delivery.SinkTerms;
import io.headrace.sinks.Patience;
import java.io.Serializable;
import java.util.Map;

/** OpenSearch as a sink: a document for each key. */
public final class OpenSearchSink implements Serializable {
    private static final long serialVersionUID = 1L;

    private final OpenSearchTerms terms;

    public OpenSearchSink(SinkTerms terms) {
        this.terms = new OpenSearchTerms(terms);
    }

    /** Makes index, alias, template and the ledgers' index; checks an index that is there. */
    public void prepare() {
        index().prepare();
        ledger().prepare();
    }

    /** The index behind the alias, by its id. */
    public Map<String, String> targets() {
        return Map.of(terms.alias(), index().id());
    }

    public Map<Integer, LedgerRecord> ledgers() {
        return ledger().records();
    }

    public void exchange(Map<Integer, LedgerRecord> seen, Map<Integer, LedgerRecord> next) {
        ledger().exchange(seen, next);
    }

    public SinkLane lane(int number) {
        return new OpenSearchLane(terms, number);
    }

    private Index index() {
        return new Index(terms, new Client(terms), patience());
    }

    private Ledger ledger() {
        return new Ledger(terms, new Client(terms), patience());
    }

    private Patience patience() {
        return new Patience(terms.sink(), terms.address().toString(), Patience.AT_START);
    }
}
