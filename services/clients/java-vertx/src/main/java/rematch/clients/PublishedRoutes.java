// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.vertx.core.Future;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.List;

/** {@code /hello} and {@code /db} of the published face, with the published answers to faults. */
final class PublishedRoutes {

    private static final int NO_ROWS = 404;

    private final Shared shared;
    private final Database database;

    PublishedRoutes(Shared shared, Database database) {
        this.shared = shared;
        this.database = database;
    }

    void mount(Router router) {
        router.get("/hello").handler(this::hello);
        router.get("/db").handler(this::db);
    }

    /** A call that fails leaves null in the answer. */
    private void hello(RoutingContext context) {
        Client client = shared.turns().hello(context.request().query());
        shared.upstream().both(
                        () -> orNull(shared.upstream().phones(client.publishedId())),
                        () -> orNull(shared.upstream().address(client.publishedAddressId())),
                        (phones, address) -> Published.hello(client, phones, address))
                .onComplete(body -> Routes.json(context, body), context::fail);
    }

    private <T> Future<T> orNull(Future<T> call) {
        return call.recover(why -> {
            shared.faults().upstream(why);
            return Future.succeededFuture();
        });
    }

    /** An empty table is a 404; a request that the database fails is never answered. */
    private void db(RoutingContext context) {
        Client client = shared.turns().db(context.request().query());
        database.all().onComplete(films -> answer(context, client, films), why -> shared.faults().database(why));
    }

    private static void answer(RoutingContext context, Client client, List<Published.Film> films) {
        if (films.isEmpty()) {
            context.response().setStatusCode(NO_ROWS).end();
        } else {
            Routes.json(context, Published.films(client, films));
        }
    }
}
