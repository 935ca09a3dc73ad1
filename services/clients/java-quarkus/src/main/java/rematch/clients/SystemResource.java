// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.smallrye.common.annotation.Blocking;
import io.smallrye.common.annotation.NonBlocking;
import jakarta.inject.Singleton;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.core.MediaType;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Readiness, which asks nobody, and metrics. */
@Path("/")
@Singleton
public class SystemResource {

    private static final byte[] UP = "{\"status\":\"up\"}".getBytes(StandardCharsets.US_ASCII);

    private final Metrics metrics;

    SystemResource(Metrics metrics) {
        this.metrics = metrics;
    }

    @GET
    @Path("health")
    @Produces(MediaType.APPLICATION_JSON)
    @NonBlocking
    public byte[] health() {
        return UP;
    }

    @GET
    @Path("metrics")
    @Produces(Metrics.CONTENT_TYPE)
    @Blocking
    public byte[] metrics() throws IOException {
        return metrics.text();
    }
}
