package io.headrace.sinks.opensearch;

import com.fasterxml.jackson.databind.JsonNode;
import io.headrace.delivery.Refusal;
import io.headrace.sinks.Away;
import io.headrace.sinks.ServerAddress;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Speaks HTTP with OpenSearch, one attempt at a time. */
final class Client {
    /** One for all lanes of this JVM: it keeps connections open and shares them. */
    private static final HttpClient HTTP =
            HttpClient.newBuilder()
                    .version(HttpClient.Version.HTTP_1_1)
                    .connectTimeout(Duration.ofSeconds(5))
                    .build();

    private static final int PORT = 9200;
    private static final int UNKNOWN = 401;
    private static final int FORBIDDEN = 403;

    /** Too many requests, and gateways or nodes that have nobody to ask. */
    private static final Set<Integer> LATER = Set.of(429, 502, 503, 504);

    private final String sink;
    private final ServerAddress address;
    private final Duration silence;
    private final String root;
    private final String authorization;

    Client(OpenSearchTerms terms) {
        this.sink = terms.sink();
        this.address = terms.address();
        this.silence = terms.silence();
        String path = address.path().isEmpty() ? "" : "/" + address.path();
        this.root =
                address.scheme() + "://" + address.host() + ":" + address.port(PORT) + path;
        this.authorization = authorization(address);
    }

    /** Asks with JSON, or without a body. */
    Answer ask(String method, String path, JsonNode body) {
        byte[] bytes = body == null ? null : body.toString().getBytes(StandardCharsets.UTF_8);
        return send(method, path, "application/json", bytes);
    }

    /** Sends lines of JSON. */
    Answer lines(String path, byte[] body) {
        return send("POST", path, "application/x-ndjson", body);
    }

    private Answer send(String method, String path, String type, byte[] body) {
        HttpRequest.BodyPublisher content =
                body == null
                        ? HttpRequest.BodyPublishers.noBody()
                        : HttpRequest.BodyPublishers.ofByteArray(body);
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(root + path))
                        .header("Content-Type", type)
                        .method(method, content);
        if (authorization != null) {
            request.header("Authorization", authorization);
        }
        HttpResponse<byte[]> response = answered(request.build());
        return heeded(new Answer(response.statusCode(), Json.answer(response.body())));
    }

    /** The time-out of a request ends with the answer's first line; this one covers all of it. */
    private HttpResponse<byte[]> answered(HttpRequest request) {
        CompletableFuture<HttpResponse<byte[]>> coming =
                HTTP.sendAsync(request, HttpResponse.BodyHandlers.ofByteArray());
        try {
            return coming.get(silence.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof IOException problem) {
                throw new Away(reason(problem), problem);
            }
            throw new IllegalStateException(failed.getCause());
        } catch (TimeoutException silent) {
            throw new Away("no answer within " + silence.toSeconds() + " s", silent);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new Away("the task was stopped while it waited", interrupted);
        } finally {
            coming.cancel(true);
        }
    }

    private Answer heeded(Answer answer) {
        // Such as an index that is closed to writes since the disk is full.
        boolean isBlocked = answer.type().equals("cluster_block_exception");
        if (isBlocked || LATER.contains(answer.status())) {
            throw new Away("OpenSearch says: " + answer.status() + " " + answer.reason(), null);
        }
        if (answer.status() == UNKNOWN || answer.status() == FORBIDDEN) {
            throw Refusal.of(
                    "sink-forbidden",
                    "the OpenSearch at " + address + " does not let sink \"" + sink + "\" in",
                    "it says: " + answer.status() + " " + answer.reason(),
                    "name the account in the address and its password in a file, and allow it "
                            + "the index and " + Ledger.INDEX + ".");
        }
        return answer;
    }

    private static String reason(IOException problem) {
        if (problem instanceof ConnectException) {
            return "nobody listens there";
        }
        String text = problem.getMessage();
        return text == null ? problem.getClass().getSimpleName() : text;
    }

    private static String authorization(ServerAddress address) {
        String password = address.password();
        if (address.user() == null || password == null) {
            return null;
        }
        byte[] pair = (address.user() + ":" + password).getBytes(StandardCharsets.UTF_8);
        return "Basic " + Base64.getEncoder().encodeToString(pair);
    }
}
