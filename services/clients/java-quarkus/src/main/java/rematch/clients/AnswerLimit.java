// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.quarkus.arc.Unremovable;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import jakarta.inject.Singleton;
import org.jboss.resteasy.reactive.client.api.ClientLogger;

/**
 * Ends an answer of the upstream as soon as it is longer than the contract allows. Quarkus collects a body to its end
 * before anybody may look at it, so an upstream that never stops would be collected until memory or time ran out. A
 * logger of its REST client is the one part that is handed a request before the answer has come; nothing is logged here.
 */
@Singleton
@Unremovable
final class AnswerLimit implements ClientLogger {

    private static final int LIMIT_BYTES = 65_536;

    @Override
    public void setBodySize(int bytes) {
        // of what a logger would print
    }

    @Override
    public void logRequest(HttpClientRequest request, Buffer body, boolean omitted) {
        request.response().onSuccess(response -> response.handler(new Count(request)));
    }

    @Override
    public void logResponse(HttpClientResponse response, boolean redirect) {
        // its body was counted
    }

    /** Counts beside whoever collects the body. */
    private static final class Count implements Handler<Buffer> {

        private final HttpClientRequest request;
        private long read;

        Count(HttpClientRequest request) {
            this.request = request;
        }

        @Override
        public void handle(Buffer part) {
            read += part.length();
            if (read > LIMIT_BYTES) {
                // Closes the connection, too: what may still come belongs to nobody.
                request.reset(0, new WholeAnswers.BadAnswer("upstream answered more than " + LIMIT_BYTES + " bytes"));
            }
        }
    }
}
