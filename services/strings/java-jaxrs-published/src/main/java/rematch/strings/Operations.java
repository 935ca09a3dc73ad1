// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** What every service here has and the published program had not; requests are not counted. */
@Path("/")
public final class Operations {

    private static final byte[] UP = "{\"status\":\"up\"}".getBytes(StandardCharsets.US_ASCII);
    private static final Metrics METRICS = new Metrics();

    @GET
    @Path("health")
    public Response health() {
        return Response.ok(UP, MediaType.APPLICATION_JSON_TYPE).build();
    }

    @GET
    @Path("metrics")
    public Response metrics() throws IOException {
        return Response.ok(METRICS.text()).header(HttpHeaders.CONTENT_TYPE, Metrics.CONTENT_TYPE).build();
    }
}
