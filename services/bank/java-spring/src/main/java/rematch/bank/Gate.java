// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;

/**
 * Stands before Spring in the matched face. It lets through what the contract has a route for, compared as it was sent;
 * it holds each answer back until its length is known ({@link HeldAnswer}); it counts, times and logs before any of it
 * is sent, as in the other services.
 */
final class Gate extends HttpFilter {

    private static final long serialVersionUID = 1L;

    private final transient AccessLog log;
    private final transient Metrics metrics;

    Gate(AccessLog log, Metrics metrics) {
        this.log = log;
        this.metrics = metrics;
    }

    @Override
    protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws IOException, ServletException {
        long started = System.nanoTime();
        String method = request.getMethod();
        Route route = Route.of(request.getRequestURI(), method);
        HeldAnswer answer = new HeldAnswer(response);
        if (route == Route.OTHER) {
            refuse(answer, Refusal.NOT_FOUND);
        } else if (!route.takes(method)) {
            answer.setHeader(HttpHeaders.ALLOW, route.method());
            refuse(answer, Refusal.METHOD_NOT_ALLOWED);
        } else {
            chain.doFilter(request, answer);
        }
        if (route.isWorkload()) {
            record(request, route, answer, System.nanoTime() - started);
        }
        answer.finish();
    }

    private void record(HttpServletRequest request, Route route, HeldAnswer answer, long tookNs) {
        metrics.request(route, answer.getStatus(), tookNs);
        long bytesIn = request.getContentLengthLong();
        if (bytesIn < 0) { // chunked, or none at all
            bytesIn = request.getAttribute(Body.BYTES_READ) instanceof Integer read ? read : 0;
        }
        log.request(request.getMethod(), route.path(), answer.getStatus(), bytesIn, answer.bytesWritten(), tookNs);
    }

    private static void refuse(HttpServletResponse answer, Refusal refusal) throws IOException {
        answer.setStatus(refusal.status());
        answer.setContentType(MediaType.APPLICATION_JSON_VALUE);
        answer.getOutputStream().write(refusal.body());
    }
}
