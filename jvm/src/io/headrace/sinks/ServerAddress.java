package io.headrace.sinks;

import io.headrace.delivery.Refusal;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * Where a server is, and which account to use; the password is in a file.
 *
 * <p>{@code scheme://user@host:port/path?password_file=/a/file}: the file is read where a
 * connection is opened, on driver and executors, so it has to be there.
 */
public final class ServerAddress {
    private static final String PASSWORD_FILE = "password_file=";
    private static final Set<PosixFilePermission> OTHERS =
            PosixFilePermissions.fromString("---rw-rw-");

    private final URI uri;
    private final Path passwordFile;

    private ServerAddress(URI uri, Path passwordFile) {
        this.uri = uri;
        this.passwordFile = passwordFile;
    }

    /** Reads an address; Python has refused one that holds a password. */
    public static ServerAddress parse(String text) {
        try {
            URI uri = new URI(text);
            return new ServerAddress(uri, passwordFile(uri.getRawQuery()));
        } catch (URISyntaxException problem) {
            // Its text is not repeated, as it may hold what should not be seen.
            throw new IllegalArgumentException("the address of a server cannot be read");
        }
    }

    private static Path passwordFile(String query) {
        for (String part : query == null ? new String[0] : query.split("&")) {
            if (part.startsWith(PASSWORD_FILE)) {
                String name = part.substring(PASSWORD_FILE.length());
                return Path.of(URLDecoder.decode(name, StandardCharsets.UTF_8));
            }
        }
        return null;
    }

    public String scheme() {
        return uri.getScheme();
    }

    public String host() {
        return uri.getHost();
    }

    public int port(int usual) {
        return uri.getPort() < 0 ? usual : uri.getPort();
    }

    /** What follows the port, without slashes at its ends. */
    public String path() {
        String path = uri.getPath() == null ? "" : uri.getPath();
        return path.replaceAll("^/+|/+$", "");
    }

    /** The account, or null. */
    public String user() {
        String info = uri.getUserInfo();
        return info == null || info.isEmpty() ? null : info.split(":", 2)[0];
    }

    /**
     * The password, or null.
     *
     * @throws Refusal {@code password-file-unusable} if its file cannot be read, or by others too
     */
    public String password() {
        if (passwordFile == null) {
            return null;
        }
        try {
            if (Files.getPosixFilePermissions(passwordFile).stream().anyMatch(OTHERS::contains)) {
                throw unusable("others than its owner can read or write it.");
            }
            return Files.readString(passwordFile).strip();
        } catch (IOException problem) {
            throw unusable(problem + ".");
        }
    }

    private Refusal unusable(String why) {
        return Refusal.of(
                "password-file-unusable",
                "the password file " + passwordFile + " cannot be used",
                why,
                "each machine that writes needs it under this name, for its own account alone: "
                        + "chmod 600.");
    }

    /** The address as it may be shown. */
    @Override
    public String toString() {
        String port = uri.getPort() < 0 ? "" : ":" + uri.getPort();
        String path = path().isEmpty() ? "" : "/" + path();
        return uri.getScheme() + "://" + uri.getHost() + port + path;
    }
}
