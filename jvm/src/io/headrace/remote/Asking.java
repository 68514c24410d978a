package io.headrace.remote;

import io.headrace.delivery.Refusal;
import io.headrace.formats.JsonRows;
import io.headrace.operators.Parcel;
import io.headrace.sinks.Away;
import io.headrace.sinks.ServerCalls;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Answers the events of a partition, some hundred at a time, in the order in which they come.
 *
 * <p>A row that comes in has the key's text, or null; one that goes out has the answer's bytes, or
 * null, behind all that it had.
 */
final class Asking implements MapPartitionsFunction<Row, Row> {
    private static final long serialVersionUID = 1L;
    private static final int TOGETHER = 1_000;

    private final RemoteTerms terms;
    private final Parcel parcel;
    private final int key;

    /**
     * Makes the function.
     *
     * @param parcel packs rows of the table
     * @param key where the key's text is in an event
     */
    Asking(RemoteTerms terms, Parcel parcel, int key) {
        this.terms = terms;
        this.parcel = parcel;
        this.key = key;
    }

    @Override
    public Iterator<Row> call(Iterator<Row> events) {
        RemoteTable table = RemoteTables.open(terms);
        TaskContext.get().addTaskCompletionListener((TaskCompletionListener) ended -> table.close());
        ServerCalls calls =
                new ServerCalls(
                        RemoteTables.server(terms),
                        Duration.ofMillis(terms.patienceMs()),
                        this::unreachable);
        JsonRows rows = new JsonRows(terms.row());
        Answers answers = Answers.of(terms);
        return new Iterator<>() {
            private Iterator<Row> answered = List.<Row>of().iterator();

            @Override
            public boolean hasNext() {
                return answered.hasNext() || events.hasNext();
            }

            @Override
            public Row next() {
                if (!answered.hasNext()) {
                    if (!events.hasNext()) {
                        throw new NoSuchElementException();
                    }
                    answered = together(events, answers, keys -> asked(keys, calls, table, rows));
                }
                return answered.next();
            }
        };
    }

    private interface Question {
        Map<String, Optional<byte[]>> ask(List<String> keys);
    }

    private Iterator<Row> together(Iterator<Row> events, Answers answers, Question question) {
        List<Row> taken = new ArrayList<>(TOGETHER);
        Set<String> keys = new LinkedHashSet<>();
        while (events.hasNext() && taken.size() < TOGETHER) {
            Row event = events.next();
            taken.add(event);
            if (!event.isNullAt(key)) {
                keys.add(event.getString(key));
            }
        }
        Map<String, Optional<byte[]>> found = answers.known(keys);
        keys.removeAll(found.keySet());
        if (!keys.isEmpty()) {
            Map<String, Optional<byte[]>> told = question.ask(new ArrayList<>(keys));
            answers.keep(told);
            found.putAll(told);
        }
        return taken.stream().map(event -> answered(event, found)).iterator();
    }

    private Row answered(Row event, Map<String, Optional<byte[]>> found) {
        Object[] values = new Object[event.length() + 1];
        for (int i = 0; i < event.length(); i++) {
            values[i] = event.get(i);
        }
        if (!event.isNullAt(key)) {
            values[event.length()] = found.get(event.getString(key)).orElse(null);
        }
        return RowFactory.create(values);
    }

    private Map<String, Optional<byte[]>> asked(
            List<String> keys, ServerCalls calls, RemoteTable table, JsonRows rows) {
        Map<String, byte[]> documents = calls.until(() -> table.ask(keys));
        Map<String, Optional<byte[]>> told = new HashMap<>();
        for (String each : keys) {
            byte[] document = documents.get(each);
            told.put(each, Optional.ofNullable(document).map(json -> packed(each, json, rows)));
        }
        return told;
    }

    private byte[] packed(String of, byte[] document, JsonRows rows) {
        try {
            return parcel.pack(rows.read(document));
        } catch (IllegalArgumentException unreadable) {
            throw Refusal.of(
                    "remote-row-unreadable",
                    "a row that join \"" + terms.name() + "\" has asked for does not fit its class",
                    "key " + of + ", " + unreadable.getMessage() + ".",
                    "declare the class as the table is, or mend the row.");
        }
    }

    private Refusal unreachable(Away away) {
        return Refusal.passing(
                away,
                "remote-unreachable",
                "no answer to join \"" + terms.name() + "\" from " + RemoteTables.server(terms),
                away.getMessage() + ".",
                "see to the server, then start the pipeline again: nothing of the batch was "
                        + "written.");
    }
}
