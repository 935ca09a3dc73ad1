// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import io.helidon.common.http.MediaType;
import io.helidon.config.Config;
import io.helidon.config.ConfigSources;
import io.helidon.media.jsonp.JsonpSupport;
import io.helidon.metrics.MetricsSupport;
import io.helidon.webserver.Routing;
import io.helidon.webserver.WebServer;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.logging.LogManager;

/** The published Helidon program in the article's own version of Helidon. */
public final class Main {

    private static final int STOP_WITHIN_S = 4; // of the contract's 5: the JVM needs some to leave
    private static final int STREAM_BUFFER_BYTES = 8_192; // that of System.out
    private static final String LOGGING = "handlers=io.helidon.common.HelidonConsoleHandler\n"
            + "java.util.logging.SimpleFormatter.format="
            + "%1$tY.%1$tm.%1$td %1$tH:%1$tM:%1$tS %4$s %3$s !thread!: %5$s%6$s%n\n"
            + ".level=";

    /** A service that accepts connections, until it is closed. */
    static final class Running implements AutoCloseable {

        private final WebServer server;

        Running(WebServer server) {
            this.server = server;
        }

        int port() {
            return server.port();
        }

        /** Accepts nothing new, finishes what is in flight, and returns within the contract's time. */
        @Override
        public void close() {
            try {
                server.shutdown().toCompletableFuture().get(STOP_WITHIN_S, TimeUnit.SECONDS);
            } catch (InterruptedException hurried) {
                Thread.currentThread().interrupt();
            } catch (ExecutionException | TimeoutException unfinished) {
                System.err.println("stopped before all was finished: " + unfinished);
            }
        }
    }

    private Main() {
    }

    /** Runs the service until SIGTERM. */
    public static void main(String[] args) {
        try {
            run(Settings.parse(args));
        } catch (Settings.BadFlag bad) {
            exit(2, bad.getMessage());
        }
    }

    private static void run(Settings settings) {
        String address = "host=" + settings.host() + " port=" + settings.port();
        try {
            Running running = serve(settings);
            Runtime.getRuntime().addShutdownHook(new Thread(running::close, "stop"));
            System.err.println("listening host=" + settings.host() + " port=" + running.port());
        } catch (CompletionException taken) {
            exit(1, "cannot listen on " + address + ": " + taken.getCause().getMessage());
        } catch (IOException failed) {
            exit(1, "cannot start with " + address + ": " + failed);
        }
    }

    static Running serve(Settings settings) throws IOException {
        log(settings);
        Config server = Config.builder()
                .sources(ConfigSources.create(
                        Map.of("host", settings.host(), "port", Integer.toString(settings.port()))))
                .disableEnvironmentVariablesSource()
                .disableSystemPropertiesSource()
                .build();
        Routing routing = Routing.builder()
                .register(MetricsSupport.create())
                .get("/health", (request, response) -> {
                    response.headers().contentType(MediaType.APPLICATION_JSON);
                    response.send("{\"status\":\"up\"}");
                })
                .register("/", new StringService())
                .build();
        return new Running(WebServer.builder(routing)
                .config(server)
                .addMediaSupport(JsonpSupport.create())
                .build()
                .start()
                .toCompletableFuture()
                .join());
    }

    /** Has the framework's handler write to stdout, or to what stands for it; off is a level. */
    private static void log(Settings settings) throws IOException {
        if (settings.logging() && settings.logSink() != Settings.Sink.PIPE) {
            String file = settings.logSink() == Settings.Sink.FILE ? settings.logFile() : "/dev/null";
            System.setOut(new PrintStream(
                    new BufferedOutputStream(new FileOutputStream(file, true), STREAM_BUFFER_BYTES)));
        }
        String text = LOGGING + (settings.logging() ? "INFO" : "WARNING") + "\n";
        LogManager.getLogManager()
                .readConfiguration(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    }

    private static void exit(int status, String line) {
        System.err.println(line);
        System.exit(status);
    }
}
