// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.nio.charset.StandardCharsets;
import java.util.List;
import rematch.clients.Refusal.Refused;

/** Every path of the service, mounted alike in production and in the tests. */
final class Routes {

    private static final CharSequence JSON = HttpHeaders.createOptimized("application/json");
    private static final CharSequence METRICS = HttpHeaders.createOptimized(Metrics.CONTENT_TYPE);
    private static final CharSequence GET = HttpHeaders.createOptimized("GET");
    private static final Buffer UP = Buffer.buffer("{\"status\":\"up\"}");

    private final Shared shared;
    private final Database database;

    private Routes(Shared shared, Database database) {
        this.shared = shared;
        this.database = database;
    }

    /** @param database null when lean */
    static Router router(Vertx vertx, Settings settings, Shared shared, Database database) {
        Router router = Router.router(vertx);
        if (settings.lean()) {
            Lean.mount(router);
            return router;
        }
        Routes routes = new Routes(shared, database);
        router.route().handler(new Gate(settings.face() == Settings.Face.MATCHED, shared));
        if (settings.face() == Settings.Face.PUBLISHED) {
            new PublishedRoutes(shared, database).mount(router);
        } else if (settings.craft() == Settings.Craft.TUNED) {
            new TunedRoutes(shared, database).mount(router);
        } else {
            router.get("/hello").handler(routes::hello);
            router.get("/db").handler(routes::db);
        }
        router.get("/health").handler(context -> json(context, UP));
        router.get("/metrics").handler(routes::metrics);
        router.route().failureHandler(Routes::failed);
        return router;
    }

    private void hello(RoutingContext context) {
        Client client = shared.turns().hello(context.request().query());
        Upstream upstream = shared.upstream();
        upstream.both(() -> upstream.phones(client.id()), () -> upstream.address(client.addressId()),
                        (phones, address) -> Answers.hello(client, phones, address))
                .onComplete(body -> json(context, body), why -> context.fail(shared.faults().upstream(why)));
    }

    private void db(RoutingContext context) {
        Client client = shared.turns().db(context.request().query());
        database.byDirector(Answers.Film::new)
                .map(byDirector -> Answers.db(client, byDirector.getOrDefault(client.favouriteDirector(), List.of())))
                .onComplete(body -> json(context, body), why -> context.fail(shared.faults().database(why)));
    }

    /** Asking the runtime takes a while, which is not for an event loop. */
    private void metrics(RoutingContext context) {
        context.vertx().executeBlocking(shared.metrics()::text, false).onComplete(
                text -> context.response().putHeader(HttpHeaders.CONTENT_TYPE, METRICS).end(Buffer.buffer(text)),
                context::fail);
    }

    private static void failed(RoutingContext context) {
        if (context.response().ended() || context.response().closed()) {
            return;
        }
        if (context.failure() instanceof Refused refused) {
            refuse(context, refused.refusal());
            return;
        }
        if (context.failure() != null) {
            context.failure().printStackTrace();
        }
        refuse(context, Refusal.INTERNAL);
    }

    static void refuse(RoutingContext context, Refusal refusal) {
        HttpServerResponse response = context.response().setStatusCode(refusal.status());
        if (refusal == Refusal.METHOD_NOT_ALLOWED) {
            response.putHeader(HttpHeaders.ALLOW, GET);
        }
        json(context, Buffer.buffer(refusal.body()));
    }

    static void json(RoutingContext context, Buffer body) {
        context.response().putHeader(HttpHeaders.CONTENT_TYPE, JSON).end(body);
    }

    /** {@code --lean}: the answer for client 1 as a constant. */
    private static final class Lean {

        private static final Buffer HELLO = Buffer.buffer(("{\"id\":1,\"name\":\"Client 1\",\"age\":18,"
                + "\"salary\":3000.00,\"favourite_director\":\"J J Abrams\",\"phones\":[" + phones() + "],"
                + "\"address\":{\"street\":\"123 Main St\",\"number\":42,\"state\":\"CA\",\"country\":\"USA\"},"
                + "\"loan_options\":["
                + "{\"years\":1,\"installment\":90.00,\"maximum\":1080.00,\"loan\":1004.40},"
                + "{\"years\":2,\"installment\":90.00,\"maximum\":2160.00,\"loan\":2008.80},"
                + "{\"years\":3,\"installment\":90.00,\"maximum\":3240.00,\"loan\":3013.20}]}")
                .getBytes(StandardCharsets.US_ASCII));

        static void mount(Router router) {
            router.route().handler(context -> {
                Route route = Route.of(context.request().path());
                boolean known = context.request().method() == HttpMethod.GET
                        && (route == Route.HELLO || route == Route.HEALTH);
                if (known) {
                    context.next();
                } else {
                    refuse(context, Refusal.NOT_FOUND);
                }
            });
            router.get("/hello").handler(context -> json(context, HELLO));
            router.get("/health").handler(context -> json(context, UP));
        }

        /** What the upstream has for client 1. */
        private static String phones() {
            StringBuilder phones = new StringBuilder();
            for (int i = 0; i < 19; i++) {
                phones.append(i == 0 ? "" : ",").append("{\"ddd\":").append(11 + (7 + i * 5) % 89)
                        .append(",\"number\":").append(900_000_000 + (7_368_787 + i * 1_299_709) % 100_000_000)
                        .append('}');
            }
            return phones.toString();
        }
    }
}
