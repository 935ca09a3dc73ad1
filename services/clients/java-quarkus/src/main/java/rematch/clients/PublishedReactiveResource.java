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

/** The published face in mode {@code reactive}. */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@NonBlocking
@Singleton
@EndpointDisabled(name = "rematch.published-reactive", stringValue = "false")
public class PublishedReactiveResource {

    private final Turns turns;
    private final Faults faults;
    private final UpstreamCalls calls;
    private final ReactiveMovies movies;

    PublishedReactiveResource(Turns turns, Faults faults, UpstreamCalls calls, ReactiveMovies movies) {
        this.turns = turns;
        this.faults = faults;
        this.calls = calls;
        this.movies = movies;
    }

    /** A fault of the upstream is a 500, as the framework makes it of any exception. */
    @GET
    @Path("hello")
    public Uni<Published.Hello> hello(@Context HttpServerRequest request) {
        Client client = turns.hello(request.query());
        return calls.both(client.publishedId(), client.publishedAddressId(),
                        (phones, address) -> Published.hello(client, phones, address))
                .onFailure().transform(faults::publishedUpstream);
    }

    /** A fault of the database is a 200 with nulls. */
    @GET
    @Path("db")
    public Uni<Published.Films> db(@Context HttpServerRequest request) {
        Client client = turns.db(request.query());
        return movies.published()
                .map(all -> Published.films(client, all))
                .onFailure().invoke(faults::database)
                .onFailure().recoverWithItem(Published.NO_DATABASE);
    }
}
