// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.vertx.core.DeploymentOptions;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import java.io.IOException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The clients workload on Vert.x: flags and wiring. */
public final class Main {

    private static final int START_WITHIN_S = 60;
    private static final int STOP_WITHIN_MS = 4_500; // of the contract's 5 s
    private static final int CLOSE_WITHIN_MS = 300;

    /** A service that accepts connections, until it is closed. */
    record Running(Vertx vertx, String verticles, Shared shared) implements AutoCloseable {

        int port() {
            return shared.port();
        }

        /** Accepts nothing new, finishes what is in flight, and returns within the contract's time. */
        @Override
        public void close() {
            try {
                // Verticles finish what is in flight before what they use for it is closed.
                vertx.undeploy(verticles).await(STOP_WITHIN_MS, TimeUnit.MILLISECONDS);
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

    private Main() {
    }

    /** Runs the service until SIGTERM. */
    public static void main(String[] args) {
        try {
            run(Settings.parse(System.getenv(), args));
        } catch (Settings.BadSetting bad) {
            exit(2, bad.getMessage());
        }
    }

    private static void run(Settings settings) {
        try {
            Running running = serve(settings, AccessLog.open(settings));
            Runtime.getRuntime().addShutdownHook(new Thread(running::close, "stop"));
            System.err.println("listening host=" + settings.host() + " port=" + running.port());
        } catch (IOException failed) {
            exit(1, "cannot start with host=" + settings.host() + " port=" + settings.port() + ": " + failed);
        }
    }

    static Running serve(Settings settings, AccessLog log) throws IOException {
        Vertx vertx = Vertx.vertx(new VertxOptions()
                .setEventLoopPoolSize(Math.max(VertxOptions.DEFAULT_EVENT_LOOP_POOL_SIZE, settings.verticles()))
                .setFileSystemOptions(new FileSystemOptions() // nothing is unpacked into temporary folders
                        .setClassPathResolvingEnabled(false)
                        .setFileCachingEnabled(false)));
        Shared shared = new Shared(vertx, settings, log);
        try {
            String verticles = vertx.deployVerticle(() -> new ServiceVerticle(settings, shared),
                            new DeploymentOptions().setInstances(settings.verticles()))
                    .await(START_WITHIN_S, TimeUnit.SECONDS);
            return new Running(vertx, verticles, shared);
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
