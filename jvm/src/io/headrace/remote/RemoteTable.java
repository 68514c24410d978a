package io.headrace.remote;

import java.util.List;
import java.util.Map;

/** A table in another system, asked by the tasks of a batch. One object belongs to one task. */
public interface RemoteTable extends AutoCloseable {
    /**
     * Asks for the rows of some keys.
     *
     * @param keys the texts of the keys, each once
     * @return the rows that there are by their keys, as JSON objects
     * @throws io.headrace.sinks.Away if the server does not answer, and may do so later
     * @throws io.headrace.delivery.Refusal if it will not
     */
    Map<String, byte[]> ask(List<String> keys);

    @Override
    void close();
}
