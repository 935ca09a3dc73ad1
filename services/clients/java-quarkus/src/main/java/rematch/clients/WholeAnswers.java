// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import jakarta.ws.rs.client.ClientResponseContext;
import jakarta.ws.rs.core.HttpHeaders;
import jakarta.ws.rs.core.MediaType;
import org.jboss.resteasy.reactive.client.spi.ResteasyReactiveClientRequestContext;
import org.jboss.resteasy.reactive.client.spi.ResteasyReactiveClientResponseFilter;

/**
 * Refuses answers of the upstream that are whole but not the one asked for, before their JSON is looked at; those that
 * are too long {@link AnswerLimit} has ended before. It is Quarkus' own kind of filter, which runs where the answer
 * arrives: one of Jakarta's would need a worker thread, and there is none while all of them wait for answers.
 */
public class WholeAnswers implements ResteasyReactiveClientResponseFilter {

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
        // What it is called is not looked at, only whether it is JSON.
        response.getHeaders().putSingle(HttpHeaders.CONTENT_TYPE, MediaType.APPLICATION_JSON);
    }
}
