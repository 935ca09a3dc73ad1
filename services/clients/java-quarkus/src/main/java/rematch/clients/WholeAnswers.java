// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import jakarta.ws.rs.client.ClientRequestContext;
import jakarta.ws.rs.client.ClientResponseContext;
import jakarta.ws.rs.client.ClientResponseFilter;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;

/** Refuses answers of the upstream that are whole but not the one asked for, before their JSON is looked at. */
public class WholeAnswers implements ClientResponseFilter {

    private static final int LIMIT_BYTES = 65_536;
    private static final int OK = 200;

    /** A whole HTTP answer that cannot be right. */
    static final class BadAnswer extends IOException {
        private static final long serialVersionUID = 1L;

        BadAnswer(String message) {
            super(message);
        }

        @Override
        public synchronized Throwable fillInStackTrace() {
            return this; // a fault of somebody else, and an ordinary one
        }
    }

    @Override
    public void filter(ClientRequestContext request, ClientResponseContext response) throws IOException {
        if (!response.hasEntity()) {
            return; // nothing came, or not all of it: Quarkus knows which, and the resources refuse nothing
        }
        if (response.getStatus() != OK) {
            throw new BadAnswer("upstream answered " + response.getStatus());
        }
        byte[] body = response.getEntityStream().readNBytes(LIMIT_BYTES + 1);
        if (body.length > LIMIT_BYTES) {
            throw new BadAnswer("upstream answered more than " + LIMIT_BYTES + " bytes");
        }
        InputStream whole = new ByteArrayInputStream(body);
        response.setEntityStream(whole);
        // What it is called is not looked at, only whether it is JSON.
        response.getHeaders().putSingle(HttpHeaders.CONTENT_TYPE, MediaType.APPLICATION_JSON);
    }
}
