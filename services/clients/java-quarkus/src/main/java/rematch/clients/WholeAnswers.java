// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import jakarta.ws.rs.client.ClientResponseContext;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import org.jboss.resteasy.reactive.client.spi.ResteasyReactiveClientRequestContext;
import org.jboss.resteasy.reactive.client.spi.ResteasyReactiveClientResponseFilter;

/**
 * Refuses answers of the upstream that are whole but not the one asked for, before their JSON is looked at. It is
 * Quarkus' own kind of filter, which runs where the answer arrives: one of Jakarta's would need a worker thread, and
 * there is none while all of them wait for answers.
 */
public class WholeAnswers implements ResteasyReactiveClientResponseFilter {

    private static final int LIMIT_BYTES = 65_536;
    private static final int OK = 200;

    /** A whole HTTP answer that cannot be right. */
    static final class BadAnswer extends RuntimeException {
        private static final long serialVersionUID = 1L;

        BadAnswer(String message) {
            super(message, null, false, false); // a fault of somebody else, and an ordinary one: no stack trace
        }
    }

    @Override
    public void filter(ResteasyReactiveClientRequestContext request, ClientResponseContext response) {
        if (!response.hasEntity()) {
            return; // nothing came, or not all of it: Quarkus knows which, and the resources refuse nothing
        }
        if (response.getStatus() != OK) {
            throw new BadAnswer("upstream answered " + response.getStatus());
        }
        byte[] body = start(response.getEntityStream());
        if (body.length > LIMIT_BYTES) {
            throw new BadAnswer("upstream answered more than " + LIMIT_BYTES + " bytes");
        }
        InputStream whole = new ByteArrayInputStream(body);
        response.setEntityStream(whole);
        // What it is called is not looked at, only whether it is JSON.
        response.getHeaders().putSingle(HttpHeaders.CONTENT_TYPE, MediaType.APPLICATION_JSON);
    }

    /** Never waits: Quarkus has collected the body before it asks filters. */
    private static byte[] start(InputStream body) {
        try {
            return body.readNBytes(LIMIT_BYTES + 1);
        } catch (IOException unread) {
            throw new UncheckedIOException(unread);
        }
    }
}
