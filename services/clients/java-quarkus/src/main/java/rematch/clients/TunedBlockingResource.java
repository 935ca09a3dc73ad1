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
import java.util.Arrays;

/** Mode {@code blocking} in the tuned craft. */
@Path("/")
@Produces(MediaType.APPLICATION_JSON)
@Blocking
@Singleton
@EndpointDisabled(name = "rematch.tuned-blocking", stringValue = "false")
public class TunedBlockingResource {

    /** What the upstream said; the answer is made by the thread that waited for it, as in the other craft. */
    private record Heard(Tokens.Phones phones, Upstream.Address address) {
    }

    private final Turns turns;
    private final Faults faults;
    private final UpstreamCalls calls;
    private final JdbcMovies movies;

    TunedBlockingResource(Turns turns, Faults faults, UpstreamCalls calls, JdbcMovies movies) {
        this.turns = turns;
        this.faults = faults;
        this.calls = calls;
        this.movies = movies;
    }

    @GET
    @Path("hello")
    public byte[] hello(@Context HttpServerRequest request) {
        Client client = turns.hello(request.query());
        try {
            Heard heard = calls.tuned(client.id(), client.addressId(), Heard::new).await().indefinitely();
            return copied(AnswerBytes.hello(client, heard.phones, heard.address));
        } catch (RuntimeException failed) {
            throw faults.upstream(failed);
        }
    }

    @GET
    @Path("db")
    public byte[] db(@Context HttpServerRequest request) {
        Client client = turns.db(request.query());
        try {
            return copied(AnswerBytes.db(client, movies.byDirector(AnswerBytes::film).get(client.favouriteDirector())));
        } catch (SQLException failed) {
            throw faults.database(failed);
        }
    }

    /** Quarkus keeps the bytes until they are sent. */
    private static byte[] copied(AnswerBytes answer) {
        return Arrays.copyOf(answer.array(), answer.size());
    }
}
