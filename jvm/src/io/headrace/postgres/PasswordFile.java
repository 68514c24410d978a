package io.headrace.postgres;

import io.headrace.delivery.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** A password file as libpq reads it: a line for each server, database and user. */
final class PasswordFile {
    private static final Set<PosixFilePermission> OPEN =
            EnumSet.of(
                    PosixFilePermission.GROUP_READ,
                    PosixFilePermission.GROUP_WRITE,
                    PosixFilePermission.OTHERS_READ,
                    PosixFilePermission.OTHERS_WRITE);

    private final Path path;

    private PasswordFile(Path path) {
        this.path = path;
    }

    /**
     * The file that an address names, or the environment, or the user's own.
     *
     * @param named in the address, or null
     */
    static PasswordFile find(String named) {
        if (named != null) {
            return new PasswordFile(Path.of(named));
        }
        String told = System.getenv("PGPASSFILE");
        if (told != null) {
            return new PasswordFile(Path.of(told));
        }
        Path usual = Path.of(System.getProperty("user.home"), ".pgpass");
        return new PasswordFile(Files.isRegularFile(usual) ? usual : null);
    }

    /** The password of the first line that fits; null if none does, or there is no file. */
    String password(String host, int port, String database, String user) {
        if (path == null) {
            return null;
        }
        List<String> wanted = List.of(host, "" + port, database, user);
        try {
            requirePrivate();
            for (String line : Files.readAllLines(path)) {
                List<String> fields = fields(line);
                if (!line.startsWith("#") && fields.size() == 5 && fits(fields, wanted)) {
                    return fields.get(4);
                }
            }
            return null;
        } catch (IOException problem) {
            throw unusable("it cannot be read: " + problem + ".");
        }
    }

    private void requirePrivate() throws IOException {
        try {
            Set<PosixFilePermission> given = Files.getPosixFilePermissions(path);
            if (given.stream().anyMatch(OPEN::contains)) {
                throw unusable("others than its owner can read or write it.");
            }
        } catch (UnsupportedOperationException elsewhere) {
            // A file system without such permissions has others of its own.
            return;
        }
    }

    private Refusal unusable(String why) {
        return Refusal.of(
                "password-file-unusable",
                "the password file " + path + " cannot be used",
                why,
                "each machine that writes needs it under this name, for its own account alone: "
                        + "chmod 600.");
    }

    private static boolean fits(List<String> fields, List<String> wanted) {
        for (int i = 0; i < wanted.size(); i++) {
            if (!fields.get(i).equals("*") && !fields.get(i).equals(wanted.get(i))) {
                return false;
            }
        }
        return true;
    }

    /** Splits a line at its colons; a backslash takes the next letter as it is. */
    private static List<String> fields(String line) {
        List<String> fields = new ArrayList<>();
        StringBuilder field = new StringBuilder();
        for (int i = 0; i < line.length(); i++) {
            char letter = line.charAt(i);
            if (letter == '\\' && i + 1 < line.length()) {
                field.append(line.charAt(++i));
            } else if (letter == ':' && fields.size() < 4) {
                fields.add(field.toString());
                field.setLength(0);
            } else {
                field.append(letter);
            }
        }
        fields.add(field.toString());
        return fields;
    }
}
