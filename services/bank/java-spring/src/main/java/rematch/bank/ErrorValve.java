// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import jakarta.servlet.ServletException;
import java.io.IOException;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ErrorReportValve;
import org.apache.coyote.ActionCode;
import org.springframework.http.MediaType;

/** Answers in JSON what Tomcat refuses before any filter sees it, where its own valve would send a page. */
public final class ErrorValve extends ErrorReportValve {

    @Override
    public void invoke(Request request, Response response) throws IOException, ServletException {
        super.invoke(request, response);
        if (request.getAttribute(Body.GIVEN_UP) != null) {
            // Tomcat would read the rest of a body before it closes, however slowly that comes.
            request.getCoyoteRequest().action(ActionCode.DISABLE_SWALLOW_INPUT, null);
        }
    }

    @Override
    protected void report(Request request, Response response, Throwable failed) {
        int status = response.getStatus();
        if (status < 400 || response.getContentWritten() > 0 || !response.setErrorReported()) {
            return;
        }
        Refusal refusal = switch (status) {
            case 404 -> Refusal.NOT_FOUND;
            case 405 -> Refusal.METHOD_NOT_ALLOWED;
            case 413 -> Refusal.BODY_TOO_LARGE;
            default -> status < 500 ? Refusal.BAD_REQUEST : Refusal.INTERNAL;
        };
        response.setContentType(MediaType.APPLICATION_JSON_VALUE);
        try {
            response.getOutputStream().write(refusal.body());
            response.finishResponse();
        } catch (IOException gone) {
            // The peer does not wait for the answer.
        }
    }
}
