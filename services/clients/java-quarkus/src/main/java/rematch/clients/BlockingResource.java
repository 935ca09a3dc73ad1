// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.quarkus.resteasy.reactive.server.EndpointDisabled;
import io.smallrye.common.annotation.Blocking;
import io.vertx.core.http.HttpServerRequest;
import jakarta.inject.Singleton;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;
import java.sql.SQLException;

/** Mode {@code blocking}: a worker thread per request, the upstream waited for, JDBC through Agroal. */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@Blocking
@Singleton
@EndpointDisabled(name = "rematch.blocking", stringValue = "false")
public class BlockingResource {

    private final Turns turns;
    private final Faults faults;
    private final UpstreamCalls calls;
    private final JdbcMovies movies;

    BlockingResource(Turns turns, Faults faults, UpstreamCalls calls, JdbcMovies movies) {
        this.turns = turns;
        this.faults = faults;
        this.calls = calls;
        this.movies = movies;
    }

    @GET
    @Path("hello")
    public Answers.Hello hello(@Context HttpServerRequest request) {
        Client client = turns.hello(request.query());
        try {
            return calls.both(client.id(), client.addressId(),
                    (phones, address) -> Answers.hello(client, phones, address)).await().indefinitely();
        } catch (RuntimeException failed) {
            throw faults.upstream(failed);
        }
    }

    @GET
    @Path("db")
    public Answers.Db db(@Context HttpServerRequest request) {
        Client client = turns.db(request.query());
        try {
            return Answers.db(client, movies.byDirector(Answers::film).get(client.favouriteDirector()));
        } catch (SQLException failed) {
            throw faults.database(failed);
        }
    }
}
