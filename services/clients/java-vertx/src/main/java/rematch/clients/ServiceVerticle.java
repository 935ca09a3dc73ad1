// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import java.util.concurrent.TimeUnit;

/** A verticle: a server on one event loop, beside others of its kind on the same port. */
final class ServiceVerticle extends VerticleBase {

    private static final int BACKLOG = 4_096;
    private static final int STOP_WITHIN_S = 4; // of the contract's 5: the JVM needs some to leave

    private final Settings settings;
    private final Shared shared;
    private HttpServer server;
    private Database.Pipelined own;

    ServiceVerticle(Settings settings, Shared shared) {
        this.settings = settings;
        this.shared = shared;
    }

    /** In the published face the server listens when its connection and its statement are ready, or cannot be had. */
    @Override
    public Future<?> start() {
        Database database = shared.pool();
        if (database == null && !settings.lean()) {
            own = new Database.Pipelined(vertx, settings);
            shared.join(own);
            database = own;
        }
        server = vertx.createHttpServer(new HttpServerOptions()
                        .setTcpNoDelay(true)
                        .setAcceptBacklog(BACKLOG)
                        .setHandle100ContinueAutomatically(true))
                .requestHandler(Routes.router(vertx, settings, shared, database));
        if (own == null || settings.face() == Settings.Face.MATCHED) {
            return listen();
        }
        return own.prepare().onFailure(why -> shared.faults().database(why)).transform(ready -> listen());
    }

    private Future<HttpServer> listen() {
        // A negative port: the system chooses, and all verticles share what it chose.
        return server.listen(settings.port() == 0 ? -1 : settings.port(), settings.host())
                .onSuccess(listening -> shared.listening(listening.actualPort()));
    }

    /** Accepts nothing new and finishes what is in flight. */
    @Override
    public Future<?> stop() {
        return server.shutdown(STOP_WITHIN_S, TimeUnit.SECONDS)
                .eventually(() -> own == null ? Future.succeededFuture() : own.close());
    }
}
