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

    /** A refusal on its way to its exception mapper; bad input is ordinary, so it carries no stack trace. */
    static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final Refusal refusal;
        private final int bytesIn;

        Refused(Refusal refusal) {
            this(refusal, 0);
        }

        Refused(Refusal refusal, int bytesIn) {
            super(refusal.name(), null, false, false);
            this.refusal = refusal;
            this.bytesIn = bytesIn;
        }

        Refusal refusal() {
            return refusal;
        }

        /** How much of the body was read before it was refused. */
        int bytesIn() {
            return bytesIn;
        }
    }
}
