package io.headrace.formats;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where in its database a change comes from: the envelope's {@code source}.
 *
 * <p>The position is one number: of PostgreSQL the LSN, of MySQL the number of the binlog's file
 * above the place in it. Two changes of one database are compared by {@link #major()}, then {@link
 * #minor()}: of PostgreSQL the LSN of the last commit before the change, then its own, as LSNs alone
 * follow the order in which transactions wrote and not that in which they were committed; of MySQL
 * the position alone, as MariaDB gives all changes of a transaction one place, and numbers their rows
 * anew with each statement: among these the log's own order counts.
 */
final class ChangeOrigin {
    private static final Pattern LAST_COMMIT = Pattern.compile("\\[\\s*\"([0-9]{1,19})\".*");
    private static final Pattern FILE = Pattern.compile(".*\\.([0-9]{1,7})");

    /** A place in a file of the binlog has up to 40 bits. */
    private static final int PLACE_BITS = 40;

    private Long lsn;
    private Long place;
    private Long millis;
    private Long micros;
    private String file;
    private String sequence;
    private String snapshot;
    private String transaction;

    void read(JsonParser parser, JsonToken token) throws IOException {
        if (token != JsonToken.START_OBJECT) {
            parser.skipChildren();
            return;
        }
        String name;
        while ((name = parser.nextFieldName()) != null) {
            JsonToken value = parser.nextToken();
            if (value == JsonToken.VALUE_NULL) {
                continue;
            }
            switch (name) {
                case "lsn" -> lsn = whole(parser, value);
                case "pos" -> place = whole(parser, value);
                case "ts_ms" -> millis = whole(parser, value);
                case "ts_us" -> micros = whole(parser, value);
                case "file" -> file = parser.getValueAsString();
                case "sequence" -> sequence = parser.getValueAsString();
                case "snapshot" -> snapshot = parser.getValueAsString();
                case "txId", "gtid" -> transaction = parser.getValueAsString();
                default -> parser.skipChildren();
            }
        }
    }

    /** The microseconds at which the change was committed, or its snapshot was taken; or null. */
    Long changedAt() {
        return micros != null || millis == null ? micros : Long.valueOf(millis * 1000);
    }

    /** Whether the row was read by a snapshot. */
    boolean isSnapshot() {
        return snapshot != null && !snapshot.equals("false");
    }

    String transaction() {
        return transaction;
    }

    /** One number that grows with the database's log; null if the connector tells none. */
    Long position() {
        return lsn != null ? lsn : folded();
    }

    /** The first number to compare by; below zero before any commit, null without a position. */
    Long major() {
        if (lsn == null) {
            return folded();
        }
        Matcher found = sequence == null ? null : LAST_COMMIT.matcher(sequence);
        return found != null && found.matches() ? Long.parseLong(found.group(1)) : -1L;
    }

    /** The second number to compare by; null if the database tells none. */
    Long minor() {
        return lsn;
    }

    private Long folded() {
        Matcher number = file == null ? null : FILE.matcher(file);
        if (number == null || place == null || !number.matches()) {
            return null;
        }
        return Long.parseLong(number.group(1)) << PLACE_BITS | place;
    }

    private static Long whole(JsonParser parser, JsonToken token) throws IOException {
        boolean isWhole =
                token == JsonToken.VALUE_NUMBER_INT
                        && parser.getNumberType() != JsonParser.NumberType.BIG_INTEGER;
        if (!isWhole) {
            parser.skipChildren();
            return null;
        }
        return parser.getLongValue();
    }
}
