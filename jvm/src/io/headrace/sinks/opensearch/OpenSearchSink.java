package io.headrace.sinks.opensearch;

import io.headrace.delivery.LedgerRecord;
import io.headrace.delivery.RowSink;
import io.headrace.delivery.SinkLane;
import io.headrace.delivery.SinkTerms;
import io.headrace.sinks.ServerCalls;
import java.util.Map;

/** OpenSearch as a sink: a document for each key. */
public final class OpenSearchSink implements RowSink {
    private static final long serialVersionUID = 1L;

    private final OpenSearchTerms terms;

    public OpenSearchSink(SinkTerms terms) {
        this.terms = new OpenSearchTerms(terms);
    }

    /** Makes index, alias, template and the ledgers' index; checks an index that is there. */
    @Override
    public void prepare() {
        index().prepare();
        ledger().prepare();
    }

    /** The index behind the alias, by its id. */
    @Override
    public Map<String, String> targets() {
        return Map.of("index " + terms.alias(), index().id());
    }

    @Override
    public Map<Integer, LedgerRecord> ledgers() {
        return ledger().records();
    }

    @Override
    public void exchange(Map<Integer, LedgerRecord> seen, Map<Integer, LedgerRecord> next) {
        ledger().exchange(seen, next);
    }

    @Override
    public SinkLane lane(int number) {
        return new OpenSearchLane(terms, number);
    }

    private Index index() {
        return new Index(terms, new Client(terms), calls());
    }

    private Ledger ledger() {
        return new Ledger(terms, new Client(terms), calls());
    }

    private ServerCalls calls() {
        return new ServerCalls(terms.sink(), terms.address().toString(), ServerCalls.AT_START);
    }
}
