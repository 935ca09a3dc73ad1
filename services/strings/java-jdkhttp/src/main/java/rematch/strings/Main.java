// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.channels.UnresolvedAddressException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** The strings workload on the JDK's own HTTP server: flags and wiring. */
public final class Main {

    private static final int BACKLOG = 4_096;
    private static final int STOP_WITHIN_S = 4; // of the contract's 5: the JVM needs some to leave

    /** A service that accepts connections, until it is closed. */
    record Running(HttpServer server, ExecutorService executor) implements AutoCloseable {

        int port() {
            return server.getAddress().getPort();
        }

        /** Accepts nothing new, finishes what is in flight, and returns within the contract's time. */
        @Override
        public void close() {
            // stop() closes the listening socket at once, but may sit out its whole delay over connections that
            // a peer has left half-way; the executor knows when the last exchange is done.
            Thread.ofPlatform().daemon().name("stop-server").start(() -> server.stop(STOP_WITHIN_S));
            executor.shutdown();
            try {
                executor.awaitTermination(STOP_WITHIN_S, TimeUnit.SECONDS);
            } catch (InterruptedException hurried) {
                Thread.currentThread().interrupt();
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
            Running running = serve(settings, AccessLog.open(settings));
            Runtime.getRuntime().addShutdownHook(new Thread(running::close, "stop"));
            System.err.println("listening host=" + settings.host() + " port=" + running.port());
        } catch (BindException taken) {
            exit(1, "cannot listen on " + address + ": " + taken.getMessage());
        } catch (IOException | UnresolvedAddressException failed) {
            exit(1, "cannot start with " + address + ": " + failed);
        }
    }

    static Running serve(Settings settings, AccessLog log) throws IOException {
        configureServer();
        HttpServer server = HttpServer.create(new InetSocketAddress(settings.host(), settings.port()), BACKLOG);
        ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
        server.setExecutor(executor);
        Routes.mount(server, settings, log, new Metrics());
        server.start();
        return new Running(server, executor);
    }

    /** This server reads its settings once, when its classes load, and only from system properties. */
    private static void configureServer() {
        System.setProperty("sun.net.httpserver.nodelay", "true");
        // Above this many idle connections (200 by default) each finished exchange would close its connection.
        System.setProperty("sun.net.httpserver.maxIdleConnections", "20000");
        System.setProperty("sun.net.httpserver.idleInterval", "300");
    }

    private static void exit(int status, String line) {
        System.err.println(line);
        System.exit(status);
    }
}
