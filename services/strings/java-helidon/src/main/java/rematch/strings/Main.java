// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import io.helidon.common.socket.SocketOptions;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.WebServerConfig;
import io.helidon.webserver.http.HttpRouting;
import java.io.IOException;
import java.net.BindException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Level;
import java.util.logging.Logger;

/** The strings workload on Helidon SE: flags and wiring. */
public final class Main {

    private static final int BACKLOG = 4_096;
    private static final Duration STOP_WITHIN = Duration.ofSeconds(4); // of the contract's 5

    // Held because java.util.logging forgets loggers, and their levels, that nobody holds.
    private static final Logger HELIDON = Logger.getLogger("io.helidon");
    private static final Logger SERVER = Logger.getLogger("io.helidon.webserver.LoomServer");

    /** A service that accepts connections, until it is closed. */
    record Running(WebServer server) implements AutoCloseable {

        int port() {
            return server.port();
        }

        /** Accepts nothing new, finishes what is in flight, and returns within the contract's time. */
        @Override
        public void close() {
            server.stop();
        }
    }

    private Main() {
    }

    /** Runs the service until SIGTERM. */
    public static void main(String[] args) {
        try {
            Secure secure = Secure.of(args);
            Loggers loggers = Loggers.of(secure.others());
            run(Settings.parse(loggers.others()), loggers, secure);
        } catch (Settings.BadFlag bad) {
            exit(2, bad.getMessage());
        }
    }

    private static void run(Settings settings, Loggers loggers, Secure secure) {
        String address = "host=" + settings.host() + " port=" + settings.port();
        try {
            RequestLogger lines =
                    loggers.isLibrary(settings) ? loggers.open(settings) : byHand(AccessLog.open(settings));
            Running running = serve(settings, lines, secure);
            Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(running, lines), "stop"));
            System.err.println("listening host=" + settings.host() + " port=" + running.port());
        } catch (BindException taken) {
            exit(1, "cannot listen on " + address + ": " + taken.getMessage());
        } catch (IOException failed) {
            exit(1, "cannot start with " + address + ": " + failed);
        }
    }

    private static void stop(Running running, RequestLogger lines) {
        running.close();
        if (lines != null) {
            lines.close();
        }
    }

    /** Null when logging is off, and in the published face. */
    private static RequestLogger byHand(AccessLog log) {
        return log.writesLines() ? log::request : null;
    }

    static Running serve(Settings settings, AccessLog log) throws IOException {
        return serve(settings, byHand(log), Secure.off());
    }

    static Running serve(Settings settings, RequestLogger lines, Secure secure) throws IOException {
        HELIDON.setLevel(Level.WARNING);
        HttpRouting.Builder routing = HttpRouting.builder();
        Routes.mount(routing, settings, lines, new Metrics());
        WebServerConfig.Builder builder = WebServer.builder()
                .host(settings.host())
                .port(settings.port())
                .backlog(BACKLOG)
                .connectionOptions(SocketOptions.builder().tcpNoDelay(true).buildPrototype())
                .shutdownGracePeriod(STOP_WITHIN)
                .shutdownHook(false)
                .routing(routing);
        if (secure.on()) {
            builder.tls(Secure.tls());
        }
        WebServer server = builder.build();
        start(server);
        return new Running(server);
    }

    /** Helidon logs why it cannot listen, and returns; the contract asks for one line and an exit status. */
    private static void start(WebServer server) throws IOException {
        AtomicReference<Throwable> why = new AtomicReference<>();
        SERVER.setFilter(entry -> {
            why.compareAndSet(null, entry.getThrown());
            return false;
        });
        server.start();
        SERVER.setFilter(null);
        if (!server.isRunning()) {
            Throwable cause = why.get();
            while (cause != null && cause.getCause() != null) {
                cause = cause.getCause();
            }
            throw cause instanceof IOException failed ? failed : new IOException(cause);
        }
    }

    private static void exit(int status, String line) {
        System.err.println(line);
        System.exit(status);
    }
}
