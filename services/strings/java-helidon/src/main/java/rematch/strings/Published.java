// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import io.helidon.http.BadRequestException;
import io.helidon.json.JsonObject;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;

/**
 * The article's service in today's Helidon, flaws included: UTF-16 units counted, a number sent as a string.
 * JSON goes through the framework's own media support, as it did there.
 */
final class Published {

    private final AccessLog log;

    Published(AccessLog log) {
        this.log = log;
    }

    void mount(HttpRouting.Builder routing) {
        routing.post("/uppercase", this::uppercase).post("/count", this::count);
    }

    private void uppercase(ServerRequest request, ServerResponse response) {
        String s = read(request);
        String v = s.toUpperCase();
        log.published("uppercase", s, v);
        response.send(JsonObject.builder().set("v", v).build());
    }

    private void count(ServerRequest request, ServerResponse response) {
        String s = read(request);
        String v = String.valueOf(s.length());
        log.published("count", s, v);
        response.send(JsonObject.builder().set("v", v).build());
    }

    private static String read(ServerRequest request) {
        try {
            return request.content().as(JsonObject.class).stringValue("s").orElseThrow();
        } catch (RuntimeException notTheJsonExpected) {
            throw new BadRequestException("an object with a string \"s\" is expected", notTheJsonExpected);
        }
    }
}
