// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import io.helidon.http.Header;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.http.Method;
import io.helidon.webserver.http.Handler;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import rematch.strings.Refusal.Refused;

/** Every path of the service, mounted alike in production and in the tests. */
final class Routes {

    private static final byte[] UP = "{\"status\":\"up\"}".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] LEAN = "{\"v\":\"HELLO\"}".getBytes(StandardCharsets.US_ASCII);
    private static final Header JSON = HeaderValues.CONTENT_TYPE_JSON;
    private static final Header METRICS = HeaderValues.createCached(HeaderNames.CONTENT_TYPE, Metrics.CONTENT_TYPE);
    private static final Header ALLOW_POST = HeaderValues.createCached(HeaderNames.ALLOW, "POST");
    private static final Header ALLOW_GET = HeaderValues.createCached(HeaderNames.ALLOW, "GET");

    /** Bodies go out as they are; {@code allow} is null unless the status is 405. */
    private record Answer(int status, byte[] body, int bytesIn, Header allow) {

        static Answer ok(byte[] body, int bytesIn) {
            return new Answer(200, body, bytesIn, null);
        }

        static Answer refused(Refusal refusal, int bytesIn, Header allow) {
            return new Answer(refusal.status(), refusal.body(), bytesIn, allow);
        }
    }

    private final RequestLogger lines; // null: logging is off
    private final Metrics metrics;
    private final Codec codec;

    /** {@code -Drematch.metrics=off}: the same answers without clock, counters and line of the log. */
    private final boolean observed = !"off".equals(System.getProperty("rematch.metrics"));

    private Routes(RequestLogger lines, Metrics metrics, Codec codec) {
        this.lines = lines;
        this.metrics = metrics;
        this.codec = codec;
    }

    static void mount(
            HttpRouting.Builder routing, Settings settings, RequestLogger lines, Metrics metrics)
            throws IOException {
        boolean published = settings.face() == Settings.Face.PUBLISHED && !settings.lean();
        if (published) {
            Published.mount(routing, settings, metrics);
        }
        Routes routes = new Routes(lines, metrics, Codec.of(settings.craft()));
        Allocations.register(metrics.registry());
        routing.any("/health", get(JSON, () -> UP))
                .any("/metrics", get(METRICS, metrics::text));
        if (settings.lean()) {
            routing.post("/uppercase", Routes::lean);
        } else if (!published) {
            routing.any("/uppercase", routes.workload(Route.UPPERCASE))
                    .any("/count", routes.workload(Route.COUNT))
                    .any("/work", routes.workload(Route.WORK))
                    .any(routes.workload(Route.OTHER));
        }
    }

    /** Something that makes the body of a GET. */
    private interface Source {
        byte[] body() throws IOException;
    }

    private static Handler get(Header contentType, Source source) {
        return (request, response) -> {
            Method method = request.prologue().method();
            if (method == Method.GET) {
                response.header(contentType).send(source.body());
            } else if (method == Method.HEAD) {
                response.header(contentType).send();
            } else {
                send(request, response, Answer.refused(Refusal.METHOD_NOT_ALLOWED, 0, ALLOW_GET));
            }
        };
    }

    private Handler workload(Route mounted) {
        return (request, response) -> {
            long started = observed ? System.nanoTime() : 0;
            // The router matches decoded paths, the contract compares them as they were sent.
            Route route = request.path().rawPath().equals(mounted.path()) ? mounted : Route.OTHER;
            Answer answer = answer(request, route);
            if (observed) {
                observe(request, route, answer, System.nanoTime() - started);
            }
            send(request, response, answer);
        };
    }

    private void observe(ServerRequest request, Route route, Answer answer, long tookNs) {
        metrics.request(route, answer.status, tookNs);
        if (lines != null) {
            lines.request(request.prologue().method().text(), route.path(), answer.status,
                    request.headers().contentLength().orElse(answer.bytesIn), answer.body.length, tookNs);
        }
    }

    private Answer answer(ServerRequest request, Route route) {
        int bytesIn = 0;
        try {
            if (route == Route.OTHER) {
                throw new Refused(Refusal.NOT_FOUND);
            }
            if (request.prologue().method() != Method.POST) {
                throw new Refused(Refusal.METHOD_NOT_ALLOWED);
            }
            byte[] body = read(request);
            bytesIn = body.length;
            return Answer.ok(compute(route, body), bytesIn);
        } catch (Refused refused) {
            Refusal refusal = refused.refusal();
            return Answer.refused(refusal, bytesIn, refusal == Refusal.METHOD_NOT_ALLOWED ? ALLOW_POST : null);
        }
    }

    private static byte[] read(ServerRequest request) throws Refused {
        if (!request.content().hasEntity()) {
            throw new Refused(Refusal.INVALID_JSON);
        }
        try {
            return Body.read(request.content().inputStream(), request.headers().contentLength().orElse(-1));
        } catch (RuntimeException badChunks) { // Helidon has no one type for them; it closes the connection
            throw new Refused(Refusal.INVALID_JSON);
        }
    }

    private byte[] compute(Route route, byte[] body) throws Refused {
        try {
            Codec.Input input = codec.read(body, route == Route.WORK);
            return switch (route) {
                case UPPERCASE -> codec.uppercase(Strings.upper(input.s()));
                case COUNT -> codec.count(Strings.count(input.s()));
                case WORK -> codec.work(Strings.work(input.s(), input.factor()));
                case OTHER -> throw new IllegalArgumentException("no answer for an unknown path");
            };
        } catch (RuntimeException defect) {
            defect.printStackTrace();
            throw new Refused(Refusal.INTERNAL);
        }
    }

    private static void lean(ServerRequest request, ServerResponse response) {
        response.header(JSON).send(LEAN);
    }

    /** What is left of a body that nobody wants is read and dropped by Helidon, after the answer. */
    private static void send(ServerRequest request, ServerResponse response, Answer answer) {
        response.status(answer.status).header(JSON);
        if (answer.allow != null) {
            response.header(answer.allow);
        }
        if (request.prologue().method() == Method.HEAD) {
            response.send(); // Helidon would send the body
        } else {
            response.send(answer.body);
        }
    }
}
