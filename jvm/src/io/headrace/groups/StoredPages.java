package io.headrace.groups;

import org.apache.spark.sql.streaming.MapState;

/** The pages of the group at hand, in Spark's state. */
final class StoredPages implements Pages {
    private final MapState<Long, byte[]> state;
    private long last;

    /**
     * Makes them.
     *
     * @param last the largest number that a page of the group has had
     */
    StoredPages(MapState<Long, byte[]> state, long last) {
        this.state = state;
        this.last = last;
    }

    long last() {
        return last;
    }

    @Override
    public Page load(long id) {
        return Page.of(state.getValue(id));
    }

    @Override
    public void store(long id, Page page) {
        state.updateValue(id, page.toBytes());
    }

    @Override
    public void remove(long id) {
        state.removeKey(id);
    }

    @Override
    public long next() {
        return ++last;
    }
}
