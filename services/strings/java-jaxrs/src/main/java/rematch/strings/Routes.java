// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.WebApplicationException;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerRequestFilter;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.container.ContainerResponseFilter;
import jakarta.ws.rs.container.PreMatching;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.Response;
import jakarta.ws.rs.ext.ExceptionMapper;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import org.glassfish.jersey.CommonProperties;
import org.glassfish.jersey.server.ResourceConfig;
import org.glassfish.jersey.server.ServerProperties;
import rematch.strings.Entities.Answer;
import rematch.strings.Refusal.Refused;

/** Every path of the service, mounted alike in production and in the tests. */
final class Routes {

    private static final byte[] UP = "{\"status\":\"up\"}".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] LEAN = "{\"v\":\"HELLO\"}".getBytes(StandardCharsets.US_ASCII);

    private Routes() {
    }

    static ResourceConfig application(Settings settings, AccessLog log, Metrics metrics) throws IOException {
        Codec codec = Codec.of(settings.craft());
        ResourceConfig config = new ResourceConfig()
                .property(CommonProperties.FEATURE_AUTO_DISCOVERY_DISABLE, true)
                .property(ServerProperties.WADL_FEATURE_DISABLE, true)
                // Images, XML and data sources: nobody asks for them here.
                .property(CommonProperties.PROVIDER_DEFAULT_DISABLE, "ALL")
                // Answers say their length themselves, so Jersey need not buffer them to learn it.
                .property(CommonProperties.OUTBOUND_CONTENT_LENGTH_BUFFER, 0)
                .register(new Entities.Reader(codec))
                .register(new Entities.Writer())
                .register(new Operations(metrics))
                .register(new RefusedMapper());
        if (settings.lean()) {
            return config.register(new Lean());
        }
        if (settings.face() == Settings.Face.PUBLISHED) {
            return config.register(new PublishedWorkload(Published.open(settings)));
        }
        return config.register(new Workload(codec))
                .register(new Gate())
                .register(new Recorder(log, metrics))
                .register(new DefectMapper());
    }

    /** The matched face. */
    @Path("/")
    public static final class Workload {

        private final Codec codec;

        Workload(Codec codec) {
            this.codec = codec;
        }

        @POST
        @Path("uppercase")
        public Response uppercase(Entities.Text text) {
            return new Answer(codec.uppercase(Strings.upper(text.s())), text.bytesIn()).ok();
        }

        @POST
        @Path("count")
        public Response count(Entities.Text text) {
            return new Answer(codec.count(Strings.count(text.s())), text.bytesIn()).ok();
        }

        @POST
        @Path("work")
        public Response work(Entities.Task task) {
            return new Answer(codec.work(Strings.work(task.s(), task.factor())), task.bytesIn()).ok();
        }
    }

    /** The published face: behaviour carried over; see {@link Published}. */
    @Path("/")
    public static final class PublishedWorkload {

        private final Published published;

        PublishedWorkload(Published published) {
            this.published = published;
        }

        @POST
        @Path("uppercase")
        public Response uppercase(InputStream body, @Context HttpHeaders headers) throws IOException {
            return response(published.uppercase(read(body, headers)));
        }

        @POST
        @Path("count")
        public Response count(InputStream body, @Context HttpHeaders headers) throws IOException {
            return response(published.count(read(body, headers)));
        }

        private static Response response(Published.Answer answer) {
            return new Answer(answer.body(), 0).with(answer.status());
        }

        private static byte[] read(InputStream body, HttpHeaders headers) {
            return Body.read(body, Entities.declaredBytes(headers.getRequestHeaders()));
        }
    }

    /** The least that this framework can do for a request. */
    @Path("/")
    public static final class Lean {

        @POST
        @Path("uppercase")
        public Response uppercase() {
            return new Answer(LEAN, 0).ok();
        }
    }

    /** Health and metrics, the same in both faces. */
    @Path("/")
    public static final class Operations {

        private final Metrics metrics;

        Operations(Metrics metrics) {
            this.metrics = metrics;
        }

        @GET
        @Path("health")
        public Response health() {
            return new Answer(UP, 0).ok();
        }

        @GET
        @Path("metrics")
        public Response metrics() throws IOException {
            byte[] text = metrics.text();
            return Response.ok(text)
                    .header(HttpHeaders.CONTENT_TYPE, Metrics.CONTENT_TYPE)
                    .header(HttpHeaders.CONTENT_LENGTH, text.length)
                    .build();
        }
    }

    /**
     * Compares paths and methods as they were sent, which JAX-RS would not: it forgives a trailing slash, decodes, and
     * answers OPTIONS. It also drops the headers that nobody looks at here, so that no nonsense in them is refused.
     */
    @PreMatching
    private static final class Gate implements ContainerRequestFilter {

        @Override
        public void filter(ContainerRequestContext request) {
            String path = request.getUriInfo().getRequestUri().getRawPath();
            boolean operations = path.equals("/health") || path.equals("/metrics");
            String method = request.getMethod();
            if (!operations) {
                Route route = Route.of(path);
                request.setProperty(Recorder.STARTED, new Recorder.Started(
                        System.nanoTime(), route, method, Entities.declaredBytes(request.getHeaders())));
                if (route == Route.OTHER) {
                    request.abortWith(Answer.refused(Refusal.NOT_FOUND, 0, null));
                } else if (!method.equals("POST")) {
                    request.abortWith(Answer.refused(Refusal.METHOD_NOT_ALLOWED, 0, "POST"));
                }
            } else if (!method.equals("GET") && !method.equals("HEAD")) {
                request.abortWith(Answer.refused(Refusal.METHOD_NOT_ALLOWED, 0, "GET"));
            }
            request.getHeaders().remove(HttpHeaders.CONTENT_TYPE);
            request.getHeaders().remove(HttpHeaders.ACCEPT);
        }
    }

    /** Counts, times and logs each request of a workload path when its answer is made and not yet sent. */
    private record Recorder(AccessLog log, Metrics metrics) implements ContainerResponseFilter {

        static final String STARTED = "rematch.started";

        /** What is known of a request when it comes in. */
        record Started(long ns, Route route, String method, long declaredBytes) {
        }

        @Override
        public void filter(ContainerRequestContext request, ContainerResponseContext response) {
            if (request.getProperty(STARTED) instanceof Started started) {
                long took = System.nanoTime() - started.ns;
                int status = response.getStatus();
                metrics.request(started.route, status, took);
                if (response.getEntity() instanceof Answer answer) {
                    long bytesIn = started.declaredBytes >= 0 ? started.declaredBytes : answer.bytesIn();
                    log.request(started.method, started.route.path(), status, bytesIn, answer.body().length, took);
                }
            }
        }
    }

    private static final class RefusedMapper implements ExceptionMapper<Refused> {

        @Override
        public Response toResponse(Refused refused) {
            return Answer.refused(refused.refusal(), refused.bytesIn(), null);
        }
    }

    private static final class DefectMapper implements ExceptionMapper<RuntimeException> {

        @Override
        public Response toResponse(RuntimeException defect) {
            if (defect instanceof WebApplicationException answered) {
                return answered.getResponse();
            }
            defect.printStackTrace();
            return Answer.refused(Refusal.INTERNAL, 0, null);
        }
    }
}
