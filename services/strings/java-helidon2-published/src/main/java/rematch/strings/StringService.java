// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import io.helidon.common.http.Http;
import io.helidon.webserver.Routing;
import io.helidon.webserver.ServerRequest;
import io.helidon.webserver.ServerResponse;
import io.helidon.webserver.Service;
import javax.json.Json;
import javax.json.JsonException;
import javax.json.JsonObject;
import javax.json.JsonString;
import java.util.function.UnaryOperator;
import java.util.logging.Logger;

/** The published service on Helidon's event loops: entity, JSON, work and logging on the thread that reads. */
final class StringService implements Service {

    private static final Logger LOGGER = Logger.getLogger(StringService.class.getName());
    private static final String NO_DATA = "No data and/or empty string";

    @Override
    public void update(Routing.Rules rules) {
        rules.get("/", (request, response) -> response.send(object("message", "Go Java and Go!")))
                .post("/uppercase", (request, response) -> answer(request, response, StringService::uppercase))
                .post("/count", (request, response) -> answer(request, response, StringService::count));
    }

    private static void answer(ServerRequest request, ServerResponse response, UnaryOperator<String> work) {
        request.content()
                .as(JsonObject.class)
                .thenAccept(asked -> response.send(object("v", work.apply(text(asked)))))
                .exceptionally(failure -> refuse(response, failure));
    }

    private static String uppercase(String s) {
        LOGGER.info("Uppercase request: " + s);
        return isMissing(s) ? NO_DATA : s.toUpperCase();
    }

    private static String count(String s) {
        LOGGER.info("Count request: " + s);
        return isMissing(s) ? NO_DATA : String.valueOf(s.length());
    }

    private static String text(JsonObject asked) {
        return asked.get("s") instanceof JsonString s ? s.getString() : null;
    }

    private static boolean isMissing(String s) {
        return s == null || s.isBlank();
    }

    private static Void refuse(ServerResponse response, Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof JsonException || cause instanceof ClassCastException) {
                response.status(Http.Status.BAD_REQUEST_400).send(object("error", "Invalid JSON"));
                return null;
            }
        }
        response.status(Http.Status.INTERNAL_SERVER_ERROR_500).send(object("error", "Internal error"));
        return null;
    }

    private static JsonObject object(String name, String value) {
        return Json.createObjectBuilder().add(name, value).build();
    }
}
