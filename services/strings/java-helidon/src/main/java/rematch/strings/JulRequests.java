// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.logging.FileHandler;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.logging.StreamHandler;

/**
 * {@code java.util.logging} with its own handlers and formatter: {@link FileHandler} for a file, for the standard output
 * what {@link java.util.logging.ConsoleHandler} is for the standard error. Both flush after every record.
 */
final class JulRequests implements RequestLogger {

    // As logging.properties would say it.
    private static final String FORMAT_KEY = "java.util.logging.SimpleFormatter.format";
    private static final String FORMAT = "time=%1$tFT%1$tT.%1$tN%1$tz level=%4$s msg=%5$s%6$s%n";
    private static final String DEVICES = "/dev/";

    private final Logger logger = Logger.getLogger("rematch.requests");
    private final Handler handler;

    /** {@code file}: null for the standard output. */
    JulRequests(String file) throws IOException {
        handler = handler(file);
        handler.setFormatter(formatter());
        handler.setLevel(Level.ALL);
        logger.setUseParentHandlers(false);
        for (Handler before : logger.getHandlers()) {
            logger.removeHandler(before);
        }
        logger.addHandler(handler);
    }

    /** The property is read when a formatter is made; other formatters keep theirs. */
    private static SimpleFormatter formatter() {
        String before = System.getProperty(FORMAT_KEY);
        System.setProperty(FORMAT_KEY, FORMAT);
        try {
            return new SimpleFormatter();
        } finally {
            if (before == null) {
                System.clearProperty(FORMAT_KEY);
            } else {
                System.setProperty(FORMAT_KEY, before);
            }
        }
    }

    /** A FileHandler makes a lock beside its file, which does not do for a device; and it reads {@code %} its own way. */
    private static Handler handler(String file) throws IOException {
        if (file == null) {
            return new ConsoleLike(new FileOutputStream(FileDescriptor.out));
        }
        return file.startsWith(DEVICES)
                ? new ConsoleLike(new FileOutputStream(file))
                : new FileHandler(file.replace("%", "%%"), true);
    }

    @Override
    public void request(String method, String path, int status, long bytesIn, int bytesOut, long tookNs) {
        logger.info(() -> "request method=" + RequestLogger.oneWord(method) + " path=" + path + " status=" + status
                + " bytes_in=" + bytesIn + " bytes_out=" + bytesOut + " took_us=" + tookNs / 1_000);
    }

    @Override
    public void close() {
        handler.close();
    }

    private static final class ConsoleLike extends StreamHandler {

        ConsoleLike(OutputStream to) {
            super(to, new SimpleFormatter());
        }

        @Override
        public void publish(LogRecord entry) {
            super.publish(entry);
            flush();
        }
    }
}
