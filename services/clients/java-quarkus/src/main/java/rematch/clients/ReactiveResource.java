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
import java.time.Duration;
import org.eclipse.microprofile.rest.client.inject.RestClient;

/** Mode {@code reactive}: everything on the event loops, with PostgreSQL's reactive client. */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@NonBlocking
@Singleton
@EndpointDisabled(name = "rematch.reactive", stringValue = "false")
public class ReactiveResource {

    private final Turns turns;
    private final Answers answers;
    private final Faults faults;
    private final Upstream upstream;
    private final Duration upstreamTimeout;
    private final ReactiveMovies movies;

    ReactiveResource(Settings settings, Turns turns, Answers answers, Faults faults, @RestClient Upstream upstream,
            ReactiveMovies movies) {
        this.turns = turns;
        this.answers = answers;
        this.faults = faults;
        this.upstream = upstream;
        this.upstreamTimeout = Duration.ofMillis(settings.upstreamTimeoutMs());
        this.movies = movies;
    }

    @GET
    @Path("hello")
    public Uni<Answers.Hello> hello(@Context HttpServerRequest request) {
        Client client = turns.hello(request.query());
        return inTime(upstream.phonesLater(client.id()))
                .map(Shapes::whole)
                .flatMap(phones -> client.adult()
                        ? inTime(upstream.addressLater(client.id()))
                                .map(address -> answers.hello(client, phones, Shapes.whole(address)))
                        : Uni.createFrom().item(answers.hello(client, phones, null)))
                .onFailure().transform(faults::upstream);
    }

    @GET
    @Path("db")
    public Uni<Answers.Db> db(@Context HttpServerRequest request) {
        Client client = turns.db(request.query());
        return movies.byDirector()
                .map(byDirector -> answers.db(client, byDirector.get(client.favouriteDirector())))
                .onFailure().transform(faults::database);
    }

    private <T> Uni<T> inTime(Uni<T> call) {
        return call.ifNoItem().after(upstreamTimeout).fail();
    }
}
