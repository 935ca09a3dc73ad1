// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.logging.StreamHandler;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * {@code java.util.logging} as the articles' programs had it: one handler for all threads, which writes to a standard
 * stream and flushes after every record. Logging off is a level: the logger is called all the same.
 */
final class PublishedLog {

    private static final String FORMAT =
            "%1$tY.%1$tm.%1$td %1$tH:%1$tM:%1$tS %4$s %3$s !thread!: %5$s%6$s%n";
    private static final int STREAM_BUFFER_BYTES = 8_192; // that of System.out and System.err

    private PublishedLog() {
    }

    /**
     * Returns the logger of a class.
     *
     * @param own the standard stream of the published program: where sink {@code PIPE} leads
     * @param off the level of the published program when it does not log
     */
    static Logger open(Class<?> who, Settings settings, FileDescriptor own, Level off, boolean namesThread)
            throws IOException {
        // SimpleFormatter reads it when it is made; logging.properties would say the same.
        System.setProperty("java.util.logging.SimpleFormatter.format", FORMAT);
        Formatter formatter = namesThread ? new ThreadFormatter() : new SimpleFormatter();
        FileOutputStream sink = settings.logging() ? sink(settings, own) : new FileOutputStream(own);
        Logger logger = Logger.getLogger(who.getName());
        for (Handler before : logger.getHandlers()) {
            logger.removeHandler(before);
        }
        logger.setUseParentHandlers(false);
        logger.addHandler(switch (settings.logLock()) {
            case PUBLISHED -> new LockedHandler(sink, formatter);
            case JDK -> new FlushingHandler(sink, formatter);
            case NONE -> new UnlockedHandler(sink, formatter);
        });
        logger.setLevel(settings.logging() ? Level.INFO : off);
        return logger;
    }

    private static FileOutputStream sink(Settings settings, FileDescriptor own) throws IOException {
        return switch (settings.logSink()) {
            case NULL -> new FileOutputStream("/dev/null");
            case FILE -> new FileOutputStream(settings.logFile(), true);
            case PIPE -> new FileOutputStream(own);
        };
    }

    /** Puts the thread into the line that the pattern made, where {@code !thread!} stands. */
    private static final class ThreadFormatter extends SimpleFormatter {

        private static final Pattern THREAD = Pattern.compile("!thread!");

        @Override
        public String format(LogRecord entry) {
            String thread = Thread.currentThread().toString();
            return THREAD.matcher(super.format(entry)).replaceAll(Matcher.quoteReplacement(thread));
        }
    }

    /** Flushes after every record, and locks as the JDK that runs it does: since 25 it formats before it locks. */
    private static class FlushingHandler extends StreamHandler {

        FlushingHandler(FileOutputStream sink, Formatter formatter) {
            super(new PrintStream(new BufferedOutputStream(sink, STREAM_BUFFER_BYTES)), formatter);
            setLevel(Level.ALL);
        }

        @Override
        public void publish(LogRecord entry) {
            write(entry);
            flush();
        }

        final void write(LogRecord entry) {
            super.publish(entry);
        }
    }

    /** Locks as the JDK 11 of the articles did: around formatting and writing, and once more around flushing. */
    private static final class LockedHandler extends FlushingHandler {

        LockedHandler(FileOutputStream sink, Formatter formatter) {
            super(sink, formatter);
        }

        @Override
        public void publish(LogRecord entry) {
            publishLocked(entry);
            flush();
        }

        private synchronized void publishLocked(LogRecord entry) {
            write(entry);
        }
    }

    /** Does the same work with no lock that two threads share: each thread has a handler of its own on the sink. */
    private static final class UnlockedHandler extends Handler {

        private final ThreadLocal<Handler> own;

        UnlockedHandler(FileOutputStream sink, Formatter formatter) {
            own = ThreadLocal.withInitial(() -> new LockedHandler(sink, formatter));
        }

        @Override
        public void publish(LogRecord entry) {
            own.get().publish(entry);
        }

        @Override
        public void flush() {
            // Each record is flushed when it is published.
        }

        @Override
        public void close() {
            // The sink lives as long as the process.
        }
    }
}
