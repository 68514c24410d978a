package io.headrace.windows;

import io.headrace.operators.Arrivals;
import io.headrace.windows.Held.Standing;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import org.apache.spark.sql.catalyst.InternalRow;

/** An event that has a window of its own, and is in the windows of those after it. */
final class Slid {
    /** The order of events: by time, then by where they came from. */
    static final Comparator<Slid> ORDER =
            Comparator.<Slid>comparingLong(slid -> slid.event.at())
                    .thenComparing(slid -> slid.event.origin(), Arrivals::compareOrigins)
                    .thenComparing(slid -> slid.event.bytes(), Arrays::compare)
                    .thenComparingInt(slid -> slid.copy);

    private static final DateTimeFormatter ISO =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSS'Z'")
                    .withZone(ZoneOffset.UTC);

    private static final int WAS_ON_TIME = 1;
    private static final int HAS_STANDING = 2;

    final Arrivals.Arrival event;

    /** Which of several events that are the same in all this one is. */
    final int copy;

    boolean onTime;
    int number;
    Standing standing;
    boolean changed = true;
    boolean marked;

    /** Where it is stored. */
    int page = SlidEvents.NO_PAGE;

    private String place;

    Slid(Arrivals.Arrival event, int copy) {
        this.event = event;
        this.copy = copy;
    }

    static Slid read(byte[] bytes, Arrivals arrivals, int page) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        int flags = in.get();
        int number = in.getInt();
        int copy = in.getInt();
        Standing standing = null;
        if ((flags & HAS_STANDING) != 0) {
            int standingNumber = in.getInt();
            Held.Bounds bounds = new Held.Bounds(in.getLong(), in.getLong());
            byte[] result = new byte[in.getInt()];
            in.get(result);
            standing = new Standing(result, standingNumber, bounds);
        }
        byte[] row = new byte[in.remaining()];
        in.get(row);
        Slid slid = new Slid(arrivals.arrival(row), copy);
        slid.onTime = (flags & WAS_ON_TIME) != 0;
        slid.number = number;
        slid.standing = standing;
        slid.changed = false;
        slid.page = page;
        return slid;
    }

    byte[] stored() {
        int kept = standing == null ? 0 : 4 + 8 + 8 + 4 + standing.result().length;
        ByteBuffer out = ByteBuffer.allocate(1 + 4 + 4 + kept + event.bytes().length);
        out.put((byte) ((onTime ? WAS_ON_TIME : 0) | (standing == null ? 0 : HAS_STANDING)));
        out.putInt(number).putInt(copy);
        if (standing != null) {
            out.putInt(standing.number());
            out.putLong(standing.bounds().start()).putLong(standing.bounds().end());
            out.putInt(standing.result().length).put(standing.result());
        }
        return out.put(event.bytes()).array();
    }

    /** What its window is called by: its time, and the record it came in. */
    String place() {
        if (place == null) {
            place = written();
        }
        return place;
    }

    private String written() {
        String time = ISO.format(Instant.EPOCH.plus(event.at(), ChronoUnit.MICROS));
        InternalRow origin = event.origin();
        String from =
                origin == null
                        ? digest(event.bytes())
                        : origin.getUTF8String(0)
                                + "/"
                                + origin.getInt(1)
                                + "/"
                                + origin.getLong(2);
        return time + "/" + from + (copy == 0 ? "" : "/" + copy);
    }

    private static String digest(byte[] bytes) {
        try {
            byte[] whole = MessageDigest.getInstance("SHA-256").digest(bytes);
            return HexFormat.of().formatHex(whole, 0, 16);
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }
}
