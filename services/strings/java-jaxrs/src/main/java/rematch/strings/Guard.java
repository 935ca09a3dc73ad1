// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import org.glassfish.grizzly.http.server.HttpHandler;
import org.glassfish.grizzly.http.server.Request;
import org.glassfish.grizzly.http.server.Response;
import org.glassfish.grizzly.http.util.FastHttpDateFormat;
import org.glassfish.grizzly.http.util.Header;

/**
 * Before Jersey's container: sets the {@code Date} that every other implementation's server sends by itself, and answers
 * an address that {@link java.net.URI} cannot read with a 404, where the container would answer 500.
 */
final class Guard extends HttpHandler {

    private final HttpHandler container;

    Guard(HttpHandler container) {
        super("strings");
        this.container = container;
    }

    @Override
    public void start() {
        super.start();
        container.start();
    }

    @Override
    public void destroy() {
        super.destroy();
        container.destroy();
    }

    @Override
    public void service(Request request, Response response) throws Exception {
        response.setHeader(Header.Date, FastHttpDateFormat.getCurrentDate());
        try {
            container.service(request, response);
        } catch (IllegalArgumentException unreadable) {
            Refusal refusal = Refusal.NOT_FOUND;
            response.setStatus(refusal.status());
            response.setContentType("application/json");
            response.setContentLength(refusal.body().length);
            response.getOutputStream().write(refusal.body());
        }
    }
}
