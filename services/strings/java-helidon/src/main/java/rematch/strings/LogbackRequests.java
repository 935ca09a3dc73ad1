// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.FileAppender;
import ch.qos.logback.core.OutputStreamAppender;

/**
 * SLF4J and Logback as they come: a file or console appender that writes every line at once, and before it, where asked
 * for, an {@link AsyncAppender} with its defaults, a queue of 256 events that drops events of level INFO and below while
 * less than a fifth of it is free. What a {@code logback.xml} would say is said here.
 */
public final class LogbackRequests implements RequestLogger {

    private static final String PATTERN = "time=%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} level=%level msg=%msg%n";

    private final LoggerContext context = new LoggerContext();
    private final org.slf4j.Logger logger;

    /** {@code file}: null for the standard output. */
    public LogbackRequests(String file, boolean async) {
        context.setName("requests");
        context.setMDCAdapter(new LogbackMDCAdapter()); // SLF4J's binding would set it
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(context);
        encoder.setPattern(PATTERN);
        encoder.start();
        OutputStreamAppender<ILoggingEvent> appender = appender(file);
        appender.setContext(context);
        appender.setName("sink");
        appender.setEncoder(encoder);
        appender.start();
        Logger requests = context.getLogger("rematch.requests");
        requests.setLevel(Level.INFO);
        requests.setAdditive(false);
        if (async) {
            AsyncAppender queue = new AsyncAppender();
            queue.setContext(context);
            queue.setName("queue");
            queue.addAppender(appender);
            queue.start();
            requests.addAppender(queue);
        } else {
            requests.addAppender(appender);
        }
        logger = requests;
        context.start();
    }

    private static OutputStreamAppender<ILoggingEvent> appender(String file) {
        if (file == null) {
            return new ConsoleAppender<>();
        }
        FileAppender<ILoggingEvent> appender = new FileAppender<>();
        appender.setFile(file);
        return appender;
    }

    @Override
    public void request(String method, String path, int status, long bytesIn, int bytesOut, long tookNs) {
        logger.info("request method={} path={} status={} bytes_in={} bytes_out={} took_us={}",
                RequestLogger.oneWord(method), path, status, bytesIn, bytesOut, tookNs / 1_000);
    }

    /** What is in the queue is written, for a second at most, as Logback's own shutdown hook does it. */
    @Override
    public void close() {
        context.stop();
    }
}
