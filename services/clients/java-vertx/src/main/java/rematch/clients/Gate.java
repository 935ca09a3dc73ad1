// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.RoutingContext;

/**
 * Stands before the routes: refuses what the contract does not know, reads bodies nobody looks at, and times, counts
 * and logs requests.
 */
final class Gate implements Handler<RoutingContext> {

    private static final int LIMIT_BYTES = 65_536;
    private static final int TIMED_OUT = 408;

    /** Tests wait for less. */
    private final long longestMs = Long.getLong("rematch.request-limit-ms", 30_000);
    private final boolean observed;
    private final AccessLog log;
    private final Metrics metrics;

    Gate(boolean observed, Shared shared) {
        this.observed = observed;
        this.log = shared.log();
        this.metrics = shared.metrics();
    }

    @Override
    public void handle(RoutingContext context) {
        // The router forgives and decodes; the contract compares paths as they were sent.
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
            Routes.refuse(context, refusal); // Vert.x reads and drops what is left of the body
        } else if (visit.hasBody()) {
            visit.readBody();
        } else {
            context.next();
        }
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
                    context.next();
                }
            });
        }

        private void count(Buffer part) {
            read += part.length();
            if (read > LIMIT_BYTES && !refused) {
                refused = true;
                Routes.refuse(context, Refusal.BODY_TOO_LARGE);
            }
        }

        long bytesIn() {
            return declared >= 0 ? declared : read;
        }
    }
}
