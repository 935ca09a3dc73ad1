// SPDX-License-Identifier: Apache-2.0
package rematch.strings.api;

import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.instrumentation.jvm.JvmMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import javax.ws.rs.GET;
import javax.ws.rs.Path;
import javax.ws.rs.core.HttpHeaders;
import javax.ws.rs.core.MediaType;
import javax.ws.rs.core.Response;

/** What the contract asks and the published program had not: no request is counted. */
@Path("/")
public final class Operations {

    private static final byte[] UP = "{\"status\":\"up\"}".getBytes(StandardCharsets.US_ASCII);

    /** Made at the first reading: JMX takes long to wake. */
    private static final class Registered {

        private static final PrometheusRegistry METRICS = new PrometheusRegistry();

        static {
            JvmMetrics.builder().register(METRICS);
        }
    }

    @GET
    @Path("health")
    public Response health() {
        return Response.ok(UP, MediaType.APPLICATION_JSON_TYPE).build();
    }

    @GET
    @Path("metrics")
    public Response metrics() throws IOException {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        PrometheusTextFormatWriter.create().write(text, Registered.METRICS.scrape());
        return Response.ok(text.toByteArray())
                .header(HttpHeaders.CONTENT_TYPE, PrometheusTextFormatWriter.CONTENT_TYPE)
                .build();
    }
}
