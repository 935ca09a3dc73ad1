// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.quarkus.vertx.http.runtime.filters.Filters;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.RoutingContext;
import jakarta.enterprise.event.Observes;
import jakarta.inject.Singleton;
import org.eclipse.microprofile.config.ConfigProvider;

/**
 * Stands before the resources: refuses what the contract does not know, reads bodies nobody looks at, and times,
 * counts and logs requests to the last byte of their answer.
 */
@Singleton
final class Gate {

    private static final int FIRST = 1_000;
    private static final int LIMIT_BYTES = 65_536;
    private static final int TIMED_OUT = 408;
    private static final String JSON = "application/json";

    private static final int STOPPING = 503;

    private final Settings settings;
    private final AccessLog log;
    private final Metrics metrics;
    private volatile boolean stopping;
    private final long longestMs = ConfigProvider.getConfig().getValue("rematch.request-limit-ms", Long.class);

    Gate(Settings settings, AccessLog log, Metrics metrics) {
        this.settings = settings;
        this.log = log;
        this.metrics = metrics;
    }

    void mount(@Observes Filters filters) {
        boolean matched = settings.face() == Settings.Face.MATCHED;
        // Quarkus itself goes on answering new requests while it waits for those in flight.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stopping = true, "stopping"));
        filters.register(settings.lean() ? Gate::lean : context -> enter(context, matched), FIRST);
    }

    private static void lean(RoutingContext context) {
        Route route = Route.of(context.request().path());
        boolean known = route == Route.HELLO || route == Route.HEALTH;
        if (known && context.request().method() == HttpMethod.GET) {
            type(context, JSON);
            context.next();
        } else {
            refuse(context, Refusal.NOT_FOUND);
        }
    }

    private void enter(RoutingContext context, boolean observed) {
        if (stopping) {
            context.response().setStatusCode(STOPPING).putHeader(HttpHeaders.CONNECTION, HttpHeaders.CLOSE).end();
            return;
        }
        Visit visit = new Visit(context, Route.of(context.request().path()), System.nanoTime());
        if (observed && visit.route.observed()) {
            context.addHeadersEndHandler(ready -> observe(visit));
            context.addEndHandler(done -> observe(visit)); // for whoever left unanswered
        }
        if (visit.hasBody()) {
            visit.limit(longestMs);
        }
        Refusal refusal = visit.judge();
        if (refusal != null) {
            refuse(context, refusal);
        } else if (visit.hasBody()) {
            visit.readBody();
        } else {
            proceed(visit);
        }
    }

    private static void proceed(Visit visit) {
        type(visit.context, visit.route == Route.METRICS ? Metrics.CONTENT_TYPE : JSON);
        visit.context.next();
    }

    /** Quarkus adds a charset to JSON's type, which has none, and writes parameters its own way. */
    private static void type(RoutingContext context, String contentType) {
        context.addHeadersEndHandler(sent -> context.response().headers().set(HttpHeaders.CONTENT_TYPE, contentType));
    }

    /** Once a request: when its answer is made and before any of it is sent, as in the other services. */
    private void observe(Visit visit) {
        if (visit.observed) {
            return;
        }
        visit.observed = true;
        long took = System.nanoTime() - visit.started;
        HttpServerResponse response = visit.context.response();
        metrics.request(visit.route, response.getStatusCode(), took);
        log.request(visit.request().method().name(), visit.route.path(), response.getStatusCode(), visit.bytesIn(),
                response.bytesWritten(), took);
    }

    private static void refuse(RoutingContext context, Refusal refusal) {
        HttpServerResponse response = context.response();
        response.setStatusCode(refusal.status()).putHeader(HttpHeaders.CONTENT_TYPE, JSON);
        if (refusal == Refusal.METHOD_NOT_ALLOWED) {
            response.putHeader(HttpHeaders.ALLOW, "GET");
        }
        response.end(Buffer.buffer(refusal.body()));
        context.request().resume(); // what is left of its body is read and dropped
    }

    /** A request on its way in; used by one event loop only. */
    private static final class Visit {

        private final RoutingContext context;
        private final Route route;
        private final long started;
        private final long declared;
        private long read;
        private boolean refused;
        private boolean observed;

        Visit(RoutingContext context, Route route, long started) {
            this.context = context;
            this.route = route;
            this.started = started;
            this.declared = length(context.request().getHeader(HttpHeaders.CONTENT_LENGTH));
        }

        HttpServerRequest request() {
            return context.request();
        }

        /** -1 when it was not declared. */
        private static long length(String header) {
            return header == null || !header.matches("[0-9]{1,18}") ? -1 : Long.parseLong(header);
        }

        Refusal judge() {
            if (route == Route.OTHER) {
                return Refusal.NOT_FOUND;
            }
            if (request().method() != HttpMethod.GET) {
                return Refusal.METHOD_NOT_ALLOWED;
            }
            return declared > LIMIT_BYTES ? Refusal.BODY_TOO_LARGE : null;
        }

        boolean hasBody() {
            return declared > 0 || request().headers().contains(HttpHeaders.TRANSFER_ENCODING);
        }

        /** A body that is not whole by then, wanted or not, costs its client the connection. */
        void limit(long longestMs) {
            long timer = context.vertx().setTimer(longestMs, late -> {
                if (!context.response().headWritten()) {
                    context.response().setStatusCode(TIMED_OUT); // for the log: nobody is answered
                }
                request().connection().close();
            });
            request().end().onComplete(whole -> context.vertx().cancelTimer(timer));
        }

        void readBody() {
            request().handler(this::count).endHandler(end -> {
                if (!refused) {
                    proceed(this);
                }
            }).resume();
        }

        private void count(Buffer part) {
            read += part.length();
            if (read > LIMIT_BYTES && !refused) {
                refused = true;
                refuse(context, Refusal.BODY_TOO_LARGE);
            }
        }

        long bytesIn() {
            return declared >= 0 ? declared : read;
        }
    }
}
