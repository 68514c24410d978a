package io.headrace.sinks.redis;

import io.headrace.delivery.Refusal;
import io.headrace.sinks.Away;
import io.headrace.sinks.Deadline;
import io.headrace.sinks.ServerCalls;
import io.headrace.sinks.ServerAddress;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import redis.clients.jedis.ClientSetInfoConfig;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/** A connection to Redis that is made anew when it breaks, and through which scripts are run. */
final class RedisLink implements AutoCloseable {
    private static final int PORT = 6379;
    private static final int CONNECT_MS = 5_000;

    /** How many calls may be on their way, so that Redis has the next one when it ends one. */
    private static final int AHEAD = 4;

    /**
     * What a server answers that may do it later: it loads its data, is not the primary yet, is
     * full, or has dropped our scripts, which are loaded with each new connection. What a command
     * within a script was told stands behind a colon.
     */
    private static final Pattern LATER =
            Pattern.compile(
                    "(^|: -?)(LOADING|READONLY|MASTERDOWN|BUSY|OOM|MISCONF|NOREPLICAS|NOSCRIPT)\\b");

    private final RedisTerms terms;
    private final ServerAddress address;
    private final ServerCalls calls;
    private volatile Connection connection;
    private boolean isBound;

    RedisLink(RedisTerms terms, Duration longest) {
        this.terms = terms;
        this.address = terms.address();
        this.calls = new ServerCalls(terms.sink(), address.toString(), longest);
    }

    /**
     * Stays with the connection from here on, and fails when it breaks, to be tried again as a whole.
     *
     * <p>A server that comes back after a crash may lack what it has answered already, and nothing
     * of it tells. So a batch is written through one connection, or once more from its beginning.
     */
    void bind() {
        isBound = true;
    }

    /** Runs a command and gives its answer. */
    Object command(Protocol.Command command, byte[]... arguments) {
        return answered(
                () -> {
                    connected().sendCommand(command, arguments);
                    return connection.getOne();
                });
    }

    /** Runs a script and gives its answer. */
    List<?> run(Script script, List<byte[]> keys, List<byte[]> arguments) {
        return answered(
                () -> {
                    send(script, keys, arguments);
                    return (List<?>) connection.getOne();
                });
    }

    /**
     * Runs a script for many chunks, some of them on their way at once, of a link that is bound.
     *
     * @param chunks gives the next one, or null at the end
     * @param heed is given each answer
     */
    void runAll(Script script, Supplier<Chunk> chunks, Consumer<List<?>> heed) {
        answered(
                () -> {
                    int underWay = 0;
                    Chunk next = chunks.get();
                    while (next != null || underWay > 0) {
                        if (next != null && underWay < AHEAD) {
                            send(script, next.keys(), next.arguments());
                            underWay++;
                            next = chunks.get();
                        } else {
                            List<?> answer = (List<?>) connected().getOne();
                            underWay--;
                            heed.accept(answer);
                        }
                    }
                    return null;
                });
    }

    @Override
    public void close() {
        Connection open = connection;
        connection = null;
        if (open != null) {
            try {
                open.close();
            } catch (JedisConnectionException gone) {
                // It is closed, which is what was asked for.
            }
        }
    }

    /** Lets what waits for an answer fail, from another thread. */
    void interrupt() {
        calls.end();
        Connection open = connection;
        if (open != null) {
            disconnect(open);
        }
    }

    private static void disconnect(Connection open) {
        try {
            open.forceDisconnect();
        } catch (IOException gone) {
            // It is closed, which is what was asked for.
        }
    }

    private void send(Script script, List<byte[]> keys, List<byte[]> arguments) {
        List<byte[]> whole = new ArrayList<>(2 + keys.size() + arguments.size());
        whole.add(script.digest());
        whole.add(Integer.toString(keys.size()).getBytes(StandardCharsets.US_ASCII));
        whole.addAll(keys);
        whole.addAll(arguments);
        Connection open = connected();
        Deadline deadline = Deadline.in(terms.silence(), () -> disconnect(open));
        try {
            open.sendCommand(Protocol.Command.EVALSHA, whole.toArray(new byte[0][]));
        } finally {
            deadline.close();
        }
    }

    /** Calls until Redis answers; what is then on its way on a failed connection is given up. */
    private <T> T answered(Supplier<T> call) {
        return calls.until(
                () -> {
                    boolean isAnswered = false;
                    try {
                        T answer = call.get();
                        isAnswered = true;
                        return answer;
                    } catch (JedisConnectionException problem) {
                        throw new Away(said(problem), problem);
                    } catch (JedisAccessControlException denied) {
                        throw denied(denied);
                    } catch (JedisDataException said) {
                        throw judged(said);
                    } finally {
                        if (!isAnswered) {
                            close();
                        }
                    }
                });
    }

    private Connection connected() {
        if (connection == null && isBound) {
            throw broken();
        }
        if (connection == null) {
            connection = connect(address, CONNECT_MS, (int) terms.silence().toMillis());
            for (Script script : Script.values()) {
                connection.sendCommand(
                        Protocol.Command.SCRIPT, Protocol.Keyword.LOAD.getRaw(), script.text());
                connection.getOne();
            }
        }
        return connection;
    }

    /** Makes a connection. */
    static Connection connect(ServerAddress address, int connectMs, int answerMs) {
        DefaultJedisClientConfig.Builder config =
                DefaultJedisClientConfig.builder()
                        .protocol(RedisProtocol.RESP2)
                        .clientSetInfoConfig(ClientSetInfoConfig.DISABLED)
                        .clientName("headrace")
                        .connectionTimeoutMillis(connectMs)
                        .socketTimeoutMillis(answerMs)
                        .user(address.user())
                        .password(address.password())
                        .database(address.path().isEmpty() ? 0 : Integer.parseInt(address.path()));
        if (address.scheme().equals("rediss")) {
            config.sslOptions(SslOptions.defaults());
        }
        HostAndPort place = new HostAndPort(address.host(), address.port(PORT));
        return new Connection(place, config.build());
    }

    private Refusal broken() {
        return Refusal.passing(
                null,
                "sink-unreachable",
                "the connection of sink \"" + terms.sink() + "\" to " + address
                        + " broke while a batch was written",
                "Redis may have restarted, and then lacks perhaps what it had answered.",
                "see to the server, then start the pipeline again: the batch is repeated, and "
                        + "ends the same whatever part of it was written.");
    }

    /** Whether the server may do later what it refuses now. */
    static boolean isForLater(JedisDataException said) {
        return LATER.matcher(String.valueOf(said.getMessage())).find();
    }

    private RuntimeException judged(JedisDataException said) {
        String text = String.valueOf(said.getMessage());
        if (isForLater(said)) {
            return new Away("Redis says: " + text, said);
        }
        return Refusal.of(
                "row-refused",
                "Redis refuses what sink \"" + terms.sink() + "\" sends",
                "it says: " + text,
                "mend what the detail names, then start the pipeline again.");
    }

    private Refusal denied(JedisAccessControlException said) {
        return Refusal.of(
                "sink-forbidden",
                "the Redis at " + address + " does not let sink \"" + terms.sink() + "\" in",
                "it says: " + said.getMessage(),
                "name the account in the address and its password in a file, and allow it the "
                        + "keys " + new String(terms.prefix(), StandardCharsets.UTF_8)
                        + "* and headrace:*, with scripts.");
    }

    static String said(Throwable problem) {
        Throwable root = problem;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return String.valueOf(root.getMessage());
    }
}
