// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import io.helidon.http.HeaderValues;
import io.helidon.http.Status;
import io.helidon.json.JsonGenerator;
import io.helidon.json.JsonObject;
import io.helidon.json.JsonString;
import io.helidon.json.JsonValue;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The article's service in today's Helidon, flaws included: UTF-16 units counted, a number sent as a string, status 200
 * for texts that are not there, and a message that is concatenated whether it is logged or not.
 * JSON is the framework's own, as it was there. An answer is sent with its length, in one go, as the article's version of
 * Helidon does by itself; what this one's media support writes leaves in chunks, by three system calls.
 */
final class Published {

    private static final JsonObject GREETING = JsonObject.builder().set("message", "Go Java and Go!").build();
    private static final String NO_DATA = "No data and/or empty string";

    private final Logger logger;
    private final RequestMeter meter;
    private final Metrics metrics;

    private Published(Logger logger, RequestMeter meter, Metrics metrics) {
        this.logger = logger;
        this.meter = meter;
        this.metrics = metrics;
    }

    /** To be mounted before all other routes: it counts their requests, too. */
    static void mount(HttpRouting.Builder routing, Settings settings, Metrics metrics) throws IOException {
        Logger logger = PublishedLog.open(Published.class, settings, FileDescriptor.out, Level.WARNING, true);
        Published published = new Published(logger, new RequestMeter(metrics.registry()), metrics);
        routing.any(published::count)
                .any(published::offerRegistry)
                .get("/", published::greet)
                .post("/uppercase", (request, response) -> published.answer(request, response, published::uppercase))
                .post("/count", (request, response) -> published.answer(request, response, published::count));
    }

    private void count(ServerRequest request, ServerResponse response) {
        meter.mark();
        response.next();
    }

    /** Nobody takes it from there, in the article's program neither. */
    private void offerRegistry(ServerRequest request, ServerResponse response) {
        request.context().register(metrics.registry());
        response.next();
    }

    private void greet(ServerRequest request, ServerResponse response) {
        send(response, GREETING);
    }

    /** What is made of the request's text, null where there is none. */
    private interface Work {
        String of(String s);
    }

    private void answer(ServerRequest request, ServerResponse response, Work work) {
        JsonObject asked;
        try {
            asked = request.content().as(JsonObject.class);
        } catch (RuntimeException notAnObject) { // Helidon has no one type for them
            refuse(response, Status.BAD_REQUEST_400, "Invalid JSON");
            return;
        }
        try {
            send(response, JsonObject.builder().set("v", work.of(text(asked))).build());
        } catch (RuntimeException defect) {
            refuse(response, Status.INTERNAL_SERVER_ERROR_500, "Internal error");
        }
    }

    private String uppercase(String s) {
        logger.info("Uppercase request: " + s);
        return isMissing(s) ? NO_DATA : s.toUpperCase();
    }

    private String count(String s) {
        logger.info("Count request: " + s);
        return isMissing(s) ? NO_DATA : String.valueOf(s.length());
    }

    private static String text(JsonObject asked) {
        JsonValue s = asked.value("s").orElse(null);
        return s instanceof JsonString string ? string.value() : null;
    }

    private static boolean isMissing(String s) {
        return s == null || s.isBlank();
    }

    private static void refuse(ServerResponse response, Status status, String error) {
        send(response.status(status), JsonObject.builder().set("error", error).build());
    }

    private static void send(ServerResponse response, JsonObject answer) {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        try (JsonGenerator generator = JsonGenerator.create(body)) {
            generator.write(answer);
        }
        response.header(HeaderValues.CONTENT_TYPE_JSON).send(body.toByteArray());
    }
}
