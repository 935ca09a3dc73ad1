// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.nio.charset.StandardCharsets;
import rematch.strings.Refusal.Refused;

/** Every path of the service, mounted alike in production and in the tests. */
final class Routes {

    private static final CharSequence JSON = HttpHeaders.createOptimized("application/json");
    private static final CharSequence METRICS = HttpHeaders.createOptimized(Metrics.CONTENT_TYPE);
    private static final byte[] UP = "{\"status\":\"up\"}".getBytes(StandardCharsets.US_ASCII);
    private static final Buffer LEAN = Buffer.buffer("{\"v\":\"HELLO\"}");

    private record Answer(int status, byte[] body, int bytesIn, String allow) {

        static Answer ok(byte[] body, int bytesIn) {
            return new Answer(200, body, bytesIn, null);
        }

        static Answer refused(Refusal refusal, int bytesIn, String allow) {
            return new Answer(refusal.status(), refusal.body(), bytesIn, allow);
        }
    }

    private final Vertx vertx;
    private final AccessLog log;
    private final Metrics metrics;
    private final Clock clock;
    private final Codec codec;

    /** {@code -Drematch.metrics=off}: the same answers without clock, counters and line of the log. */
    private final boolean observed = !"off".equals(System.getProperty("rematch.metrics"));

    private Routes(Vertx vertx, Settings settings, AccessLog log, Metrics metrics, Clock clock) {
        this.vertx = vertx;
        this.log = log;
        this.metrics = metrics;
        this.codec = Codec.of(settings.craft());
        this.clock = clock;
    }

    /** Answers every request of a server; lean ones without a router. */
    static Handler<HttpServerRequest> handler(
            Vertx vertx, Settings settings, AccessLog log, Metrics metrics, Clock clock) {
        Routes routes = new Routes(vertx, settings, log, metrics, clock);
        return settings.lean() ? routes::lean : routes.router();
    }

    private Router router() {
        Router router = Router.router(vertx);
        for (Route route : new Route[] {Route.UPPERCASE, Route.COUNT, Route.WORK}) {
            router.post(route.path()).handler(context -> workload(context, route));
        }
        router.get("/health").handler(context -> operations(context, "/health"));
        router.head("/health").handler(context -> operations(context, "/health"));
        router.get("/metrics").handler(context -> operations(context, "/metrics"));
        router.route().handler(this::unmatched);
        router.errorHandler(400, this::unmatched); // a path that the router cannot read is not known either
        return router;
    }

    private void workload(RoutingContext context, Route mounted) {
        long started = observed ? System.nanoTime() : 0;
        HttpServerRequest request = context.request();
        // The router matches decoded paths, the contract compares them as they were sent.
        if (!mounted.path().equals(request.path())) {
            finish(request, Route.OTHER, Answer.refused(Refusal.NOT_FOUND, 0, null), started);
            return;
        }
        Body.read(request, body -> finish(request, mounted, answer(mounted, body), started),
                () -> finish(request, mounted, Answer.refused(Refusal.BODY_TOO_LARGE, 0, null), started));
    }

    private void unmatched(RoutingContext context) {
        long started = observed ? System.nanoTime() : 0;
        HttpServerRequest request = context.request();
        String path = request.path();
        if ("/health".equals(path) || "/metrics".equals(path)) {
            send(request.response(), Answer.refused(Refusal.METHOD_NOT_ALLOWED, 0, "GET"));
            return;
        }
        Route route = Route.of(path);
        finish(request, route, route == Route.OTHER ? Answer.refused(Refusal.NOT_FOUND, 0, null)
                : Answer.refused(Refusal.METHOD_NOT_ALLOWED, 0, "POST"), started);
    }

    private Answer answer(Route route, byte[] body) {
        try {
            Codec.Input input = codec.read(body, route == Route.WORK);
            return Answer.ok(switch (route) {
                case UPPERCASE -> codec.uppercase(Strings.upper(input.s()));
                case COUNT -> codec.count(Strings.count(input.s()));
                case WORK -> codec.work(Strings.work(input.s(), input.factor()));
                case OTHER -> throw new IllegalArgumentException("no answer for an unknown path");
            }, body.length);
        } catch (Refused refused) {
            return Answer.refused(refused.refusal(), body.length, null);
        } catch (RuntimeException defect) {
            defect.printStackTrace();
            return Answer.refused(Refusal.INTERNAL, body.length, null);
        }
    }

    private void finish(HttpServerRequest request, Route route, Answer answer, long started) {
        if (observed) {
            long took = System.nanoTime() - started;
            metrics.request(route, answer.status, took);
            if (log.writesLines()) {
                long declared = Body.declaredBytes(request);
                log.request(request.method().name(), route.path(), answer.status,
                        declared >= 0 ? declared : answer.bytesIn, answer.body.length, took);
            }
        }
        send(request.response(), answer);
    }

    private void send(HttpServerResponse response, Answer answer) {
        response.setStatusCode(answer.status);
        if (answer.allow != null) {
            response.putHeader(HttpHeaders.ALLOW, answer.allow);
        }
        end(response, JSON, Buffer.buffer(answer.body));
    }

    private void end(HttpServerResponse response, CharSequence type, Buffer body) {
        response.putHeader(HttpHeaders.CONTENT_TYPE, type).putHeader(HttpHeaders.DATE, clock.date()).end(body);
    }

    private void operations(RoutingContext context, String path) {
        HttpServerRequest request = context.request();
        if (!path.equals(request.path())) {
            unmatched(context);
        } else if (path.equals("/health")) {
            send(request.response(), Answer.ok(UP, 0));
        } else {
            metrics(request);
        }
    }

    /** Asking the runtime takes a while, which is not for an event loop. */
    private void metrics(HttpServerRequest request) {
        vertx.executeBlocking(metrics::text, false).onComplete(
                text -> end(request.response(), METRICS, Buffer.buffer(text)),
                why -> {
                    why.printStackTrace();
                    send(request.response(), Answer.refused(Refusal.INTERNAL, 0, null));
                });
    }

    /** What a server of Vert.x alone does, with the constant answer. */
    private void lean(HttpServerRequest request) {
        String path = request.path();
        if (request.method() == HttpMethod.POST && "/uppercase".equals(path)) {
            end(request.response(), JSON, LEAN);
        } else if (request.method() == HttpMethod.GET && "/health".equals(path)) {
            send(request.response(), Answer.ok(UP, 0));
        } else if (request.method() == HttpMethod.GET && "/metrics".equals(path)) {
            metrics(request);
        } else {
            send(request.response(), Answer.refused(Refusal.NOT_FOUND, 0, null));
        }
    }
}
