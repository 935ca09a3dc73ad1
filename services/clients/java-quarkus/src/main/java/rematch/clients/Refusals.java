// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import org.jboss.resteasy.reactive.server.ServerExceptionMapper;

/** What resources throw, as answers. */
class Refusals {

    @ServerExceptionMapper
    Response refused(Refusal.Refused refused) {
        return answer(refused.refusal());
    }

    /** A defect: its stack trace is for stderr, not for the caller. */
    @ServerExceptionMapper
    Response defect(Throwable defect) {
        defect.printStackTrace();
        return answer(Refusal.INTERNAL);
    }

    private static Response answer(Refusal refusal) {
        return Response.status(refusal.status()).type(MediaType.APPLICATION_JSON_TYPE).entity(refusal.body()).build();
    }
}
