// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.quarkus.resteasy.reactive.server.EndpointDisabled;
import io.smallrye.common.annotation.NonBlocking;
import io.smallrye.mutiny.Uni;
import io.vertx.core.http.HttpServerRequest;
import jakarta.inject.Singleton;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.MediaType;

/** Mode {@code reactive}: everything on the event loops, with PostgreSQL's reactive client. */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@NonBlocking
@Singleton
@EndpointDisabled(name = "rematch.reactive", stringValue = "false")
public class ReactiveResource {

    private final Turns turns;
    private final Faults faults;
    private final UpstreamCalls calls;
    private final ReactiveMovies movies;

    ReactiveResource(Turns turns, Faults faults, UpstreamCalls calls, ReactiveMovies movies) {
        this.turns = turns;
        this.faults = faults;
        this.calls = calls;
        this.movies = movies;
    }

    @GET
    @Path("hello")
    public Uni<Answers.Hello> hello(@Context HttpServerRequest request) {
        Client client = turns.hello(request.query());
        return calls.both(client.id(), client.addressId(), (phones, address) -> Answers.hello(client, phones, address))
                .onFailure().transform(faults::upstream);
    }

    @GET
    @Path("db")
    public Uni<Answers.Db> db(@Context HttpServerRequest request) {
        Client client = turns.db(request.query());
        return movies.byDirector(Answers::film)
                .map(byDirector -> Answers.db(client, byDirector.get(client.favouriteDirector())))
                .onFailure().transform(faults::database);
    }
}
