// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** Why a request is not answered with 200: the contract's table, in its order. */
enum Refusal {
    NOT_FOUND(404),
    METHOD_NOT_ALLOWED(405),
    BODY_TOO_LARGE(413),
    BAD_CLIENT(400),
    UPSTREAM_TIMEOUT(504),
    UPSTREAM_UNAVAILABLE(502),
    UPSTREAM_BAD_ANSWER(502),
    DATABASE_UNAVAILABLE(503),
    /** A defect of the service; its stack trace is on stderr. */
    INTERNAL(500);

    private final int status;
    private final byte[] body;

    Refusal(int status) {
        this.status = status;
        this.body = ("{\"error\":\"" + name().toLowerCase(Locale.ROOT) + "\"}").getBytes(StandardCharsets.US_ASCII);
    }

    int status() {
        return status;
    }

    /** Shared by all answers: never written to. */
    byte[] body() {
        return body;
    }

    /** A refusal on its way up; faults of others are ordinary, so it carries no stack trace. */
    static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final Refusal refusal;

        Refused(Refusal refusal) {
            super(refusal.name(), null, false, false);
            this.refusal = refusal;
        }

        Refusal refusal() {
            return refusal;
        }
    }
}
