// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/** The matched face's line per request, or nothing when logging is off. */
final class AccessLog {

    private static final int LONGEST_LINE_BYTES = 192;
    private static final int LONGEST_METHOD = 32;
    private static final DateTimeFormatter SECOND =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss").withZone(ZoneOffset.UTC);

    /** The part of a timestamp that changes once a second, kept so that it is formatted once a second. */
    private record Second(long epochSecond, byte[] text) {
    }

    private final FileOutputStream sink;
    private volatile Second second = new Second(Long.MIN_VALUE, new byte[0]);

    private AccessLog(FileOutputStream sink) {
        this.sink = sink;
    }

    static AccessLog off() {
        return new AccessLog(null);
    }

    static AccessLog open(Settings settings) throws IOException {
        if (!settings.logging() || settings.face() != Settings.Face.MATCHED) {
            return off();
        }
        FileOutputStream sink = switch (settings.logSink()) {
            case NULL -> new FileOutputStream("/dev/null");
            case FILE -> new FileOutputStream(settings.logFile(), true);
            case PIPE -> new FileOutputStream(FileDescriptor.out);
        };
        return new AccessLog(sink);
    }

    /** Whether the matched face writes lines: what is logged need not be gathered otherwise. */
    boolean writesLines() {
        return sink != null;
    }

    /** Writes the matched face's line; does nothing when logging is off. */
    void request(String method, String path, int status, long bytesIn, int bytesOut, long tookNs) {
        if (sink == null) {
            return;
        }
        byte[] line = new byte[LONGEST_LINE_BYTES];
        int size = timestamp(line, put(line, 0, "ts="));
        size = put(line, put(line, size, " method="), printable(method));
        size = put(line, put(line, size, " path="), path);
        size = put(line, put(line, size, " status="), Integer.toString(status));
        size = put(line, put(line, size, " bytes_in="), Long.toString(bytesIn));
        size = put(line, put(line, size, " bytes_out="), Integer.toString(bytesOut));
        size = put(line, put(line, size, " took_us="), Long.toString(tookNs / 1_000));
        line[size++] = '\n';
        try {
            // One append-mode write: the kernel keeps lines whole, so no lock is held that could park a carrier.
            sink.write(line, 0, size);
        } catch (IOException sinkGone) {
            System.err.println("log line lost: " + sinkGone.getMessage());
        }
    }

    private int timestamp(byte[] line, int at) {
        Instant now = Instant.now();
        Second current = second;
        if (current.epochSecond != now.getEpochSecond()) {
            current = new Second(now.getEpochSecond(), SECOND.format(now).getBytes(StandardCharsets.US_ASCII));
            second = current;
        }
        System.arraycopy(current.text, 0, line, at, current.text.length);
        int size = at + current.text.length;
        line[size] = '.';
        int micros = now.getNano() / 1_000;
        for (int digit = 6; digit > 0; digit--) {
            line[size + digit] = (byte) ('0' + micros % 10);
            micros /= 10;
        }
        line[size + 7] = 'Z';
        return size + 8;
    }

    /** A method is whatever the peer wrote: keep it short and in one word. */
    private static String printable(String method) {
        String word = method.length() > LONGEST_METHOD ? method.substring(0, LONGEST_METHOD) : method;
        for (int i = 0; i < word.length(); i++) {
            if (word.charAt(i) <= ' ' || word.charAt(i) > '~') {
                return "?";
            }
        }
        return word;
    }

    // The deprecated getBytes copies ASCII straight into place, which is all that is wanted here.
    @SuppressWarnings("deprecation")
    private static int put(byte[] line, int at, String ascii) {
        ascii.getBytes(0, ascii.length(), line, at);
        return at + ascii.length();
    }
}
