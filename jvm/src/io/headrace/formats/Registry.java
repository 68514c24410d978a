package io.headrace.formats;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Asks the schema registry for schemas by id, once for each id and executor.
 *
 * <p>What an id stands for never changes, so a found schema is kept for good. That an id is unknown
 * is not kept: the registry may be a follower that learns of it a moment later.
 *
 * <p>An id that the registry does not know is the value's fault. A registry that does not answer,
 * or answers otherwise, is not: all values would become dead letters for an hour's outage.
 */
final class Registry {
    private static final Map<String, Registry> BY_ADDRESS = new ConcurrentHashMap<>();
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final int ATTEMPTS = 3;
    private static final int SCHEMA_NOT_FOUND = 40403;
    private static final int NOT_FOUND = 404;
    private static final int OK = 200;

    private final String address;
    private final HttpClient client = HttpClient.newBuilder().connectTimeout(PATIENCE).build();
    private final ObjectMapper json = new ObjectMapper();
    private final Map<Integer, RegisteredSchema> schemas = new ConcurrentHashMap<>();

    private Registry(String address) {
        this.address = address;
    }

    static Registry at(String address) {
        return BY_ADDRESS.computeIfAbsent(address, Registry::new);
    }

    /** The schema of an id. */
    RegisteredSchema schema(int id) throws Unreadable {
        RegisteredSchema known = schemas.get(id);
        return known != null ? known : learned(id);
    }

    /** One task at a time, or all tasks of a new executor would ask for the same id. */
    private synchronized RegisteredSchema learned(int id) throws Unreadable {
        RegisteredSchema known = schemas.get(id);
        if (known == null) {
            known = ask(id);
            schemas.put(id, known);
        }
        return known;
    }

    private RegisteredSchema ask(int id) throws Unreadable {
        HttpResponse<byte[]> answer = answer("/schemas/ids/" + id);
        JsonNode body = body(answer);
        if (answer.statusCode() == OK && body.hasNonNull("schema")) {
            return RegisteredSchema.of(body);
        }
        // Not any 404: the address itself may be wrong.
        if (answer.statusCode() == NOT_FOUND
                && body.path("error_code").asInt() == SCHEMA_NOT_FOUND) {
            throw new Unreadable(
                    Reason.SCHEMA_ID_UNKNOWN,
                    "the registry has no schema of id " + Integer.toUnsignedString(id));
        }
        throw unreachable("it answered with status " + answer.statusCode() + ".");
    }

    private HttpResponse<byte[]> answer(String path) {
        HttpRequest request =
                HttpRequest.newBuilder(URI.create(address + path)).timeout(PATIENCE).build();
        for (int attempt = 1; ; attempt++) {
            try {
                HttpResponse<byte[]> answer =
                        client.send(request, HttpResponse.BodyHandlers.ofByteArray());
                if (answer.statusCode() < 500 || attempt == ATTEMPTS) {
                    return answer;
                }
            } catch (IOException e) {
                if (attempt == ATTEMPTS) {
                    throw unreachable("it was asked " + ATTEMPTS + " times: " + e + ".");
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw unreachable("the task was stopped while it waited.");
            }
        }
    }

    private JsonNode body(HttpResponse<byte[]> answer) {
        try {
            return json.readTree(answer.body());
        } catch (IOException e) {
            throw unreachable(
                    "it answered with status " + answer.statusCode() + " and no JSON.");
        }
    }

    private FormatFailure unreachable(String detail) {
        return new FormatFailure(
                "registry-unreachable",
                "the schema registry at " + address + " does not answer as one",
                detail,
                "start it (headrace up registry) or mend its address, then run again: "
                        + "the batch is repeated and nothing is lost.");
    }
}
