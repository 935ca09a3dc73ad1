// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import java.io.IOException;
import java.net.BindException;
import java.net.URI;
import java.nio.channels.UnresolvedAddressException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.glassfish.grizzly.http.server.HttpServer;
import org.glassfish.jersey.grizzly2.httpserver.GrizzlyHttpServerFactory;
import org.glassfish.jersey.server.ResourceConfig;
import rematch.strings.api.StringService;

/** The published JAX-RS program on its own version of Jersey: the container's defaults, resources found by package. */
public final class Main {

    private static final int STOP_WITHIN_S = 4; // of the contract's 5: the JVM needs some to leave

    /** A service that accepts connections, until it is closed. */
    static final class Running implements AutoCloseable {

        private final HttpServer server;

        Running(HttpServer server) {
            this.server = server;
        }

        int port() {
            return server.getListeners().iterator().next().getPort();
        }

        /** Accepts nothing new, finishes what is in flight, and returns within the contract's time. */
        @Override
        public void close() {
            try {
                server.shutdown(STOP_WITHIN_S, TimeUnit.SECONDS).get(STOP_WITHIN_S, TimeUnit.SECONDS);
            } catch (InterruptedException hurried) {
                Thread.currentThread().interrupt();
            } catch (ExecutionException | TimeoutException unfinished) {
                System.err.println("stopped before all was finished: " + unfinished);
            }
            server.shutdownNow();
        }
    }

    private Main() {
    }

    /** Runs the service until SIGTERM. */
    public static void main(String[] args) throws InterruptedException {
        try {
            run(Settings.parse(args));
        } catch (Settings.BadFlag bad) {
            exit(2, bad.getMessage());
        }
        Thread.currentThread().join(); // Grizzly's threads are daemons
    }

    private static void run(Settings settings) {
        String address = "host=" + settings.host() + " port=" + settings.port();
        try {
            Running running = serve(settings);
            Runtime.getRuntime().addShutdownHook(new Thread(running::close, "stop"));
            System.err.println("listening host=" + settings.host() + " port=" + running.port());
        } catch (BindException taken) {
            exit(1, "cannot listen on " + address + ": " + taken.getMessage());
        } catch (IOException | UnresolvedAddressException failed) {
            exit(1, "cannot start with " + address + ": " + failed);
        }
    }

    static Running serve(Settings settings) throws IOException {
        PublishedLines.open(settings);
        String host = settings.host().contains(":") ? "[" + settings.host() + "]" : settings.host();
        HttpServer server = GrizzlyHttpServerFactory.createHttpServer(
                URI.create("http://" + host + ":" + settings.port() + "/"),
                new ResourceConfig().packages(StringService.class.getPackage().getName()),
                false);
        server.start();
        return new Running(server);
    }

    private static void exit(int status, String line) {
        System.err.println(line);
        System.exit(status);
    }
}
