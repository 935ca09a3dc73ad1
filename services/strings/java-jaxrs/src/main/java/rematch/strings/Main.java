// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import java.io.IOException;
import java.net.BindException;
import java.nio.channels.UnresolvedAddressException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.glassfish.grizzly.http.server.HttpHandler;
import org.glassfish.grizzly.http.server.HttpServer;
import org.glassfish.grizzly.http.server.NetworkListener;
import org.glassfish.grizzly.nio.transport.TCPNIOTransport;
import org.glassfish.jersey.server.ContainerFactory;

/** The strings workload on Jersey in Grizzly: flags and wiring. */
public final class Main {

    private static final int BACKLOG = 4_096;
    private static final int STOP_WITHIN_S = 4; // of the contract's 5: the JVM needs some to leave

    // Held because java.util.logging forgets loggers, and their levels, that nobody holds.
    private static final Logger GRIZZLY = Logger.getLogger("org.glassfish.grizzly");
    private static final Logger SHUTDOWN = Logger.getLogger("org.glassfish.grizzly.nio.GracefulShutdownRunner");
    private static final Logger HTTP_SERVER = Logger.getLogger("org.glassfish.grizzly.http.server.HttpServer");
    private static final Logger PROVIDERS = Logger.getLogger("org.glassfish.jersey.internal.inject.Providers");

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
            run(Settings.parse(args));
        } catch (Settings.BadFlag bad) {
            exit(2, bad.getMessage());
        }
        Thread.currentThread().join(); // Grizzly's threads are daemons
    }

    private static void run(Settings settings) {
        String address = "host=" + settings.host() + " port=" + settings.port();
        try {
            Running running = serve(settings, AccessLog.open(settings));
            Runtime.getRuntime().addShutdownHook(new Thread(running::close, "stop"));
            System.err.println("listening host=" + settings.host() + " port=" + running.port());
        } catch (BindException taken) {
            exit(1, "cannot listen on " + address + ": " + taken.getMessage());
        } catch (IOException | UnresolvedAddressException failed) {
            exit(1, "cannot start with " + address + ": " + failed);
        }
    }

    /** A virtual thread per request. Found by its name: what else is here runs on a JDK without them, too. */
    private static ExecutorService virtualThreads() {
        try {
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (ReflectiveOperationException none) {
            throw new UnsupportedOperationException("--threads=virtual needs a Java of at least 21", none);
        }
    }

    static Running serve(Settings settings, AccessLog log) throws IOException {
        GRIZZLY.setLevel(Level.WARNING);
        HTTP_SERVER.setLevel(Level.OFF); // tells at length of a port that cannot be opened; so does the exception below
        SHUTDOWN.setLevel(Level.SEVERE); // warns of every graceful shutdown
        PROVIDERS.setLevel(Level.SEVERE); // warns of every resource that is registered as an instance
        NetworkListener listener = new NetworkListener("strings", settings.host(), settings.port());
        TCPNIOTransport transport = listener.getTransport();
        transport.setTcpNoDelay(true);
        transport.setServerConnectionBackLog(BACKLOG);
        if (settings.threads() == Settings.Threads.VIRTUAL) {
            transport.setWorkerThreadPool(virtualThreads());
        }
        listener.getKeepAlive().setMaxRequestsCount(-1);
        listener.getKeepAlive().setIdleTimeoutInSeconds(300);

        HttpServer server = new HttpServer();
        server.getServerConfiguration().setPassTraceRequest(true); // TRACE is for the routes to refuse
        server.getServerConfiguration().addHttpHandler(new Guard(ContainerFactory.createContainer(
                HttpHandler.class, Routes.application(settings, log, new Metrics()))), "/");
        // Started with its listeners it would open the port before its handlers are there, and answer 404 meanwhile.
        server.start();
        server.addListener(listener);
        if (!listener.isStarted()) {
            listener.start(); // fails again, and says why
        }
        return new Running(server);
    }

    private static void exit(int status, String line) {
        System.err.println(line);
        System.exit(status);
    }
}
