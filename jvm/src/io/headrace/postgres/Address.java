package io.headrace.postgres;

import io.headrace.delivery.Refusal;
import java.io.Serializable;
import java.net.URI;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;

/** Where a database is, from a libpq address; it points at the password and holds none. */
final class Address implements Serializable {
    private static final long serialVersionUID = 1L;

    private static final int USUAL_PORT = 5432;

    /** What of a libpq address the driver knows, under the driver's names. */
    private static final Map<String, String> PARAMETERS =
            Map.of(
                    "sslmode", "sslmode",
                    "sslrootcert", "sslrootcert",
                    "sslcert", "sslcert",
                    "sslkey", "sslkey",
                    "connect_timeout", "connectTimeout",
                    "channel_binding", "channelBinding",
                    "gssencmode", "gssEncMode");

    private final String host;
    private final int port;
    private final String database;
    private final String user;
    private final LinkedHashMap<String, String> parameters = new LinkedHashMap<>();

    Address(String text) {
        URI address = URI.create(text);
        if (address.getHost() == null) {
            throw Refusal.of(
                    "sink-mismatch",
                    "the address of a database names no single host",
                    "it is " + text + ".",
                    "write it as postgresql://user@host:port/database?passfile=/a/file.");
        }
        host = address.getHost();
        port = address.getPort() < 0 ? USUAL_PORT : address.getPort();
        String info = address.getRawUserInfo();
        user = info == null ? System.getProperty("user.name") : decoded(info);
        String path = address.getRawPath();
        database = path == null || path.length() < 2 ? user : decoded(path.substring(1));
        String query = address.getRawQuery();
        for (String pair : query == null ? new String[0] : query.split("&")) {
            String[] parts = pair.split("=", 2);
            parameters.put(decoded(parts[0]), parts.length > 1 ? decoded(parts[1]) : "");
        }
    }

    /** The address for the driver; all else is a property, so that no quoting is needed. */
    String url() {
        String path = URLEncoder.encode(database, StandardCharsets.UTF_8);
        return "jdbc:postgresql://" + host + ":" + port + "/" + path;
    }

    /**
     * What the driver is told, the password among it; to be asked for where a connection is made.
     *
     * @param application how the server's own tools name the connection
     * @param login how long the server may take for an answer, until it has let us in
     */
    Properties properties(String application, Duration login) {
        Properties told = new Properties();
        PARAMETERS.forEach(
                (name, known) -> {
                    if (parameters.containsKey(name)) {
                        told.setProperty(known, parameters.get(name));
                    }
                });
        told.putIfAbsent("connectTimeout", "10");
        // A server that is halted takes connections, and says nothing on them.
        told.setProperty("socketTimeout", Long.toString(Math.max(1, login.toSeconds())));
        told.setProperty("user", user);
        told.setProperty("ApplicationName", application);
        told.setProperty("socketFactory", WatchedSockets.class.getName());
        String password = password();
        if (password != null) {
            told.setProperty("password", password);
        }
        return told;
    }

    /** How messages name the database. */
    String shown() {
        return "database \"" + database + "\" at " + host + ":" + port;
    }

    String server() {
        return host + ":" + port;
    }

    private String password() {
        return PasswordFile.find(parameters.get("passfile"))
                .password(host.replaceAll("[\\[\\]]", ""), port, database, user);
    }

    private static String decoded(String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    }
}
