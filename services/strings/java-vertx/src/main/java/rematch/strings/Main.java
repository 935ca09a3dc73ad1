// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import java.io.IOException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** The strings workload on Vert.x: flags and wiring. */
public final class Main {

    private static final int BACKLOG = 4_096;
    private static final int START_WITHIN_S = 60;
    private static final int FINISH_WITHIN_S = 4; // of the contract's 5
    private static final int STOP_WITHIN_MS = 4_500;
    private static final int CLOSE_WITHIN_MS = 300;

    /** {@code -Drematch.transport=native}: epoll by Netty's own library, in place of the JDK's. */
    private static final boolean NATIVE = "native".equals(System.getProperty("rematch.transport"));

    /** A service that accepts connections, until it is closed. */
    record Running(Vertx vertx, String servers, int port) implements AutoCloseable {

        /** Accepts nothing new, finishes what is in flight, and returns within the contract's time. */
        @Override
        public void close() {
            try {
                vertx.undeploy(servers).await(STOP_WITHIN_MS, TimeUnit.MILLISECONDS);
            } catch (Exception unfinished) {
                System.err.println("stopped before all was finished: " + unfinished);
            }
            try {
                vertx.close().await(CLOSE_WITHIN_MS, TimeUnit.MILLISECONDS);
            } catch (RejectedExecutionException | TimeoutException closed) {
                // Vert.x may end its event loops before one of them could tell.
            }
        }
    }

    /** A server on one event loop, beside others of its kind on the same port. */
    private static final class Server extends VerticleBase {

        private final Settings settings;
        private final Handler<HttpServerRequest> handler;
        private final AtomicInteger port;
        private HttpServer server;

        Server(Settings settings, Handler<HttpServerRequest> handler, AtomicInteger port) {
            this.settings = settings;
            this.handler = handler;
            this.port = port;
        }

        @Override
        public Future<?> start() {
            server = vertx.createHttpServer(new HttpServerOptions()
                            .setTcpNoDelay(true)
                            .setAcceptBacklog(BACKLOG)
                            .setHandle100ContinueAutomatically(true))
                    .requestHandler(handler);
            // A negative port: the system chooses, and all servers share what it chose.
            return server.listen(settings.port() == 0 ? -1 : settings.port(), settings.host())
                    .onSuccess(listening -> port.set(listening.actualPort()));
        }

        @Override
        public Future<?> stop() {
            return server.shutdown(FINISH_WITHIN_S, TimeUnit.SECONDS);
        }
    }

    private Main() {
    }

    /** Runs the service until SIGTERM. */
    public static void main(String[] args) {
        try {
            Settings settings = Settings.parse(args);
            if (settings.face() != Settings.Face.MATCHED) {
                throw new Settings.BadFlag("--face=published is not allowed; allowed: matched");
            }
            run(settings);
        } catch (Settings.BadFlag bad) {
            exit(2, bad.getMessage());
        }
    }

    private static void run(Settings settings) {
        try {
            Running running = serve(settings, AccessLog.open(settings));
            Runtime.getRuntime().addShutdownHook(new Thread(running::close, "stop"));
            System.err.println("listening host=" + settings.host() + " port=" + running.port());
        } catch (IOException failed) {
            exit(1, "cannot start with host=" + settings.host() + " port=" + settings.port() + ": "
                    + failed.getMessage());
        }
    }

    static Running serve(Settings settings, AccessLog log) throws IOException {
        int processors = Runtime.getRuntime().availableProcessors();
        Vertx vertx = Vertx.vertx(new VertxOptions()
                .setPreferNativeTransport(NATIVE)
                .setEventLoopPoolSize(processors)
                .setFileSystemOptions(new FileSystemOptions() // nothing is unpacked into temporary folders
                        .setClassPathResolvingEnabled(false)
                        .setFileCachingEnabled(false)));
        try {
            if (NATIVE && !vertx.isNativeTransportEnabled()) {
                throw new IOException("no native transport here", vertx.unavailableNativeTransportCause());
            }
            Metrics metrics = new Metrics();
            Allocations.register(metrics.registry());
            Handler<HttpServerRequest> handler = Routes.handler(vertx, settings, log, metrics, new Clock(vertx));
            AtomicInteger port = new AtomicInteger();
            String servers = vertx.deployVerticle(() -> new Server(settings, handler, port),
                            new DeploymentOptions().setInstances(processors))
                    .await(START_WITHIN_S, TimeUnit.SECONDS);
            return new Running(vertx, servers, port.get());
        } catch (Exception failed) {
            vertx.close();
            throw new IOException(failed.getMessage(), failed);
        }
    }

    private static void exit(int status, String line) {
        System.err.println(line);
        System.exit(status);
    }
}
