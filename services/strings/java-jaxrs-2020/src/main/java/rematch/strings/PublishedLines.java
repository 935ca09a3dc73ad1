// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.logging.StreamHandler;
import rematch.strings.api.StringService;

/** The JDK's handler of a stream, which flushes after each record, as its {@code ConsoleHandler} does. */
final class PublishedLines extends StreamHandler {

    private static final String FORMAT = "%1$tY.%1$tm.%1$td %1$tH:%1$tM:%1$tS %4$s %3$s !thread!: %5$s%6$s%n";

    // Held because java.util.logging forgets loggers, and their levels, that nobody holds.
    private static final Logger SERVICE = Logger.getLogger(StringService.class.getName());

    private PublishedLines(OutputStream sink) {
        super(sink, new SimpleFormatter());
        setLevel(Level.ALL);
    }

    @Override
    public void publish(LogRecord entry) {
        super.publish(entry);
        flush();
    }

    /** Sets up the root logger. Off is a level, as committed: loggers are called all the same. */
    static void open(Settings settings) throws IOException {
        System.setProperty("java.util.logging.SimpleFormatter.format", FORMAT); // before there is a formatter
        LogManager.getLogManager().reset();
        Logger root = Logger.getLogger("");
        Handler lines = new PublishedLines(sink(settings));
        root.addHandler(lines);
        root.setLevel(Level.SEVERE);
        SERVICE.setLevel(settings.logging() ? Level.INFO : null);
    }

    private static OutputStream sink(Settings settings) throws IOException {
        if (!settings.logging() || settings.logSink() == Settings.Sink.PIPE) {
            return System.err;
        }
        return new FileOutputStream(
                settings.logSink() == Settings.Sink.FILE ? settings.logFile() : "/dev/null", true);
    }
}
