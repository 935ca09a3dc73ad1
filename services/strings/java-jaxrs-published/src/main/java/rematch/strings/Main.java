// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import java.io.IOException;
import java.net.BindException;
import java.net.URI;
import java.nio.channels.UnresolvedAddressException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.glassfish.grizzly.http.server.HttpServer;
import org.glassfish.jersey.grizzly2.httpserver.GrizzlyHttpServerFactory;
import org.glassfish.jersey.server.ResourceConfig;

/** The published JAX-RS program: Jersey's own container for Grizzly with its defaults, resources found by package. */
public final class Main {

    private static final int STOP_WITHIN_S = 4; // of the contract's 5: the JVM needs some to leave

    // Held because java.util.logging forgets loggers, and their levels, that nobody holds.
    private static final Logger GRIZZLY = Logger.getLogger("org.glassfish.grizzly");
    private static final Logger SHUTDOWN = Logger.getLogger("org.glassfish.grizzly.nio.GracefulShutdownRunner");
    private static final Logger HTTP_SERVER = Logger.getLogger("org.glassfish.grizzly.http.server.HttpServer");

    /** A service that accepts connections, until it is closed. */
    record Running(HttpServer server) implements AutoCloseable {

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
            Settings settings = Settings.parse(args);
            if (settings.face() != Settings.Face.PUBLISHED || settings.lean()) {
                throw new Settings.BadFlag("this program has one face; needed: --face=published, without --lean");
            }
            run(settings);
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
        GRIZZLY.setLevel(Level.WARNING);
        HTTP_SERVER.setLevel(Level.OFF); // tells at length of a port that cannot be opened; so does the exception
        SHUTDOWN.setLevel(Level.SEVERE); // warns of every graceful shutdown
        StringService.log(settings);
        URI address = URI.create("http://" + (settings.host().contains(":") ? "[" + settings.host() + "]" : settings.host())
                + ":" + settings.port() + "/");
        ResourceConfig resources = new ResourceConfig().packages(Main.class.getPackageName());
        HttpServer server = GrizzlyHttpServerFactory.createHttpServer(address, resources, false);
        server.start();
        return new Running(server);
    }

    private static void exit(int status, String line) {
        System.err.println(line);
        System.exit(status);
    }
}
