// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** Why a request is not answered with 200: the contract's table, in its order. */
enum Refusal {
    NOT_FOUND(404),
    METHOD_NOT_ALLOWED(405),
    BODY_TOO_LARGE(413),
    INVALID_JSON(400),
    WRONG_TYPE(400),
    UNKNOWN_FIELD(400),
    MISSING_FIELD(400),
    EMPTY_STRING(400),
    OUT_OF_RANGE(400),
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

    /** A refusal on its way up; bad input is ordinary, so it carries no stack trace. */
    static final class Refused extends Exception {
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
