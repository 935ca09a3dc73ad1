// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import rematch.strings.Refusal.Refused;

/** Every path of the service, mounted alike in production and in the tests. */
final class Routes {

    private static final byte[] UP = "{\"status\":\"up\"}".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] LEAN = "{\"v\":\"HELLO\"}".getBytes(StandardCharsets.US_ASCII);
    private static final List<String> JSON = List.of("application/json");
    private static final int NO_BODY = -1;

    /** Bodies go out as they are; {@code allow} is null unless the status is 405. */
    private record Answer(int status, byte[] body, int bytesIn, String allow) {

        static Answer ok(byte[] body, int bytesIn) {
            return new Answer(200, body, bytesIn, null);
        }

        static Answer refused(Refusal refusal, int bytesIn, String allow) {
            return new Answer(refusal.status(), refusal.body(), bytesIn, allow);
        }
    }

    private final AccessLog log;
    private final Metrics metrics;
    private final Codec codec;

    /** {@code -Drematch.metrics=off}: the same answers without clock, counters and line of the log. */
    private final boolean observed = !"off".equals(System.getProperty("rematch.metrics"));

    private Routes(AccessLog log, Metrics metrics, Codec codec) {
        this.log = log;
        this.metrics = metrics;
        this.codec = codec;
    }

    /** One context for everything: this server matches contexts by prefix, the contract matches whole paths. */
    static void mount(HttpServer server, Settings settings, AccessLog log, Metrics metrics) throws IOException {
        Routes routes = new Routes(log, metrics, Codec.of(settings.craft()));
        Allocations.register(metrics.registry());
        HttpHandler workload = settings.lean() ? routes::lean
                : settings.face() == Settings.Face.PUBLISHED ? published(Published.open(settings)) : routes::matched;
        server.createContext("/", exchange -> routes.handle(exchange, workload));
    }

    private void handle(HttpExchange exchange, HttpHandler workload) throws IOException {
        try {
            switch (exchange.getRequestURI().getRawPath()) {
                case "/health" -> get(exchange, "application/json", UP);
                case "/metrics" -> get(exchange, Metrics.CONTENT_TYPE, null);
                case null, default -> workload.handle(exchange);
            }
        } catch (RuntimeException defect) {
            defect.printStackTrace();
            send(exchange, Answer.refused(Refusal.INTERNAL, 0, null));
        }
    }

    private void get(HttpExchange exchange, String contentType, byte[] body) throws IOException {
        String method = exchange.getRequestMethod();
        if (!method.equals("GET") && !method.equals("HEAD")) {
            send(exchange, Answer.refused(Refusal.METHOD_NOT_ALLOWED, 0, "GET"));
            return;
        }
        send(exchange, Answer.ok(body != null ? body : metrics.text(), 0), List.of(contentType));
    }

    private void matched(HttpExchange exchange) throws IOException {
        long started = observed ? System.nanoTime() : 0;
        Route route = Route.of(exchange.getRequestURI().getRawPath());
        Answer answer = answer(exchange, route);
        if (observed) {
            observe(exchange, route, answer, System.nanoTime() - started);
        }
        send(exchange, answer);
    }

    private void observe(HttpExchange exchange, Route route, Answer answer, long tookNs) {
        metrics.request(route, answer.status, tookNs);
        if (log.writesLines()) {
            long declared = declaredBytes(exchange);
            log.request(exchange.getRequestMethod(), route.path(), answer.status,
                    declared >= 0 ? declared : answer.bytesIn, answer.body.length, tookNs);
        }
    }

    private Answer answer(HttpExchange exchange, Route route) {
        int bytesIn = 0;
        try {
            if (route == Route.OTHER) {
                throw new Refused(Refusal.NOT_FOUND);
            }
            if (!exchange.getRequestMethod().equals("POST")) {
                throw new Refused(Refusal.METHOD_NOT_ALLOWED);
            }
            byte[] body = Body.read(exchange.getRequestBody(), declaredBytes(exchange));
            bytesIn = body.length;
            Codec.Input input = codec.read(body, route == Route.WORK);
            return Answer.ok(compute(route, input), bytesIn);
        } catch (Refused refused) {
            Refusal refusal = refused.refusal();
            return Answer.refused(refusal, bytesIn, refusal == Refusal.METHOD_NOT_ALLOWED ? "POST" : null);
        }
    }

    private byte[] compute(Route route, Codec.Input input) {
        return switch (route) {
            case UPPERCASE -> codec.uppercase(Strings.upper(input.s()));
            case COUNT -> codec.count(Strings.count(input.s()));
            case WORK -> codec.work(Strings.work(input.s(), input.factor()));
            case OTHER -> throw new IllegalArgumentException("no answer for an unknown path");
        };
    }

    private static HttpHandler published(Published published) {
        return exchange -> {
            try {
                byte[] body = Body.read(exchange.getRequestBody(), declaredBytes(exchange));
                Published.Answer answer = switch (Route.of(exchange.getRequestURI().getRawPath())) {
                    case UPPERCASE -> published.uppercase(body);
                    case COUNT -> published.count(body);
                    case WORK, OTHER -> throw new Refused(Refusal.NOT_FOUND);
                };
                send(exchange, new Answer(answer.status(), answer.body(), body.length, null));
            } catch (Refused refused) {
                send(exchange, Answer.refused(refused.refusal(), 0, null));
            }
        };
    }

    private void lean(HttpExchange exchange) throws IOException {
        exchange.getResponseHeaders().put("Content-type", JSON);
        exchange.sendResponseHeaders(200, LEAN.length);
        exchange.getResponseBody().write(LEAN);
        exchange.close();
    }

    /** The Content-Length, which this server has checked, or -1 when there is none. */
    private static long declaredBytes(HttpExchange exchange) {
        Headers headers = exchange.getRequestHeaders();
        String length = headers.getFirst("Content-length");
        return length == null || headers.containsKey("Transfer-encoding") ? -1 : Long.parseLong(length);
    }

    private static void send(HttpExchange exchange, Answer answer) throws IOException {
        send(exchange, answer, JSON);
    }

    private static void send(HttpExchange exchange, Answer answer, List<String> contentType) throws IOException {
        Headers headers = exchange.getResponseHeaders();
        headers.put("Content-type", contentType); // spelt as this server stores it: no copy of the name
        if (answer.allow != null) {
            headers.set("Allow", answer.allow);
        }
        if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.sendResponseHeaders(answer.status, NO_BODY);
        } else {
            exchange.sendResponseHeaders(answer.status, answer.body.length);
            exchange.getResponseBody().write(answer.body);
        }
        if (answer.status != 200) {
            exchange.getResponseBody().flush();
            Body.discard(exchange.getRequestBody());
        }
        exchange.close();
    }
}
