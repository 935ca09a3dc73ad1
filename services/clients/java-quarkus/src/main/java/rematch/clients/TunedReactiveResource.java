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
import java.util.Arrays;

/** Mode {@code reactive} in the tuned craft. */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@NonBlocking
@Singleton
@EndpointDisabled(name = "rematch.tuned-reactive", stringValue = "false")
public class TunedReactiveResource {

    private final Turns turns;
    private final Faults faults;
    private final UpstreamCalls calls;
    private final ReactiveMovies movies;

    TunedReactiveResource(Turns turns, Faults faults, UpstreamCalls calls, ReactiveMovies movies) {
        this.turns = turns;
        this.faults = faults;
        this.calls = calls;
        this.movies = movies;
    }

    @GET
    @Path("hello")
    public Uni<byte[]> hello(@Context HttpServerRequest request) {
        Client client = turns.hello(request.query());
        return calls.tuned(client.id(), client.addressId(),
                        (phones, address) -> copied(AnswerBytes.hello(client, phones, address)))
                .onFailure().transform(faults::upstream);
    }

    @GET
    @Path("db")
    public Uni<byte[]> db(@Context HttpServerRequest request) {
        Client client = turns.db(request.query());
        return movies.byDirector(AnswerBytes::film)
                .map(byDirector -> copied(AnswerBytes.db(client, byDirector.get(client.favouriteDirector()))))
                .onFailure().transform(faults::database);
    }

    /** Quarkus keeps the bytes until they are sent. */
    private static byte[] copied(AnswerBytes answer) {
        return Arrays.copyOf(answer.array(), answer.size());
    }
}
