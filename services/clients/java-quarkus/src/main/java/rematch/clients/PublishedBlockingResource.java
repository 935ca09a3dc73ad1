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

/** The published face in mode {@code blocking}. */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@Blocking
@Singleton
@EndpointDisabled(name = "rematch.published-blocking", stringValue = "false")
public class PublishedBlockingResource {

    private final Turns turns;
    private final Faults faults;
    private final UpstreamCalls calls;
    private final JdbcMovies movies;

    PublishedBlockingResource(Turns turns, Faults faults, UpstreamCalls calls, JdbcMovies movies) {
        this.turns = turns;
        this.faults = faults;
        this.calls = calls;
        this.movies = movies;
    }

    /** A fault of the upstream is a 500, as the framework makes it of any exception. */
    @GET
    @Path("hello")
    public Published.Hello hello(@Context HttpServerRequest request) {
        Client client = turns.hello(request.query());
        try {
            return calls.both(client.publishedId(), client.publishedAddressId(),
                    (phones, address) -> Published.hello(client, phones, address)).await().indefinitely();
        } catch (RuntimeException failed) {
            throw faults.publishedUpstream(failed);
        }
    }

    /** A fault of the database is a 200 with nulls. */
    @GET
    @Path("db")
    public Published.Films db(@Context HttpServerRequest request) {
        Client client = turns.db(request.query());
        try {
            return Published.films(client, movies.published());
        } catch (SQLException failed) {
            faults.database(failed);
            return Published.NO_DATABASE;
        }
    }
}
