// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.vertx.core.buffer.Buffer;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;

/** {@code /hello} and {@code /db} of the matched face in the tuned craft. */
final class TunedRoutes {

    private final Shared shared;
    private final Database database;

    TunedRoutes(Shared shared, Database database) {
        this.shared = shared;
        this.database = database;
    }

    void mount(Router router) {
        router.get("/hello").handler(this::hello);
        router.get("/db").handler(this::db);
    }

    private void hello(RoutingContext context) {
        Client client = shared.turns().hello(context.request().query());
        Upstream upstream = shared.upstream();
        upstream.both(() -> upstream.phones(client.id(), Tokens::phones),
                        () -> upstream.address(client.addressId(), Tokens::address),
                        (phones, address) -> copied(AnswerBytes.hello(client, phones, address)))
                .onComplete(body -> Routes.json(context, body), why -> context.fail(shared.faults().upstream(why)));
    }

    private void db(RoutingContext context) {
        Client client = shared.turns().db(context.request().query());
        database.byDirector(AnswerBytes::film)
                .map(byDirector -> copied(AnswerBytes.db(client, byDirector.get(client.favouriteDirector()))))
                .onComplete(body -> Routes.json(context, body), why -> context.fail(shared.faults().database(why)));
    }

    /** The server keeps the bytes until they are sent. */
    private static Buffer copied(AnswerBytes answer) {
        return Buffer.buffer(answer.size()).appendBytes(answer.array(), 0, answer.size());
    }
}
