// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;

/** Why a request is not answered with 200: the contract's table, in its order. */
enum Refusal {
    NOT_FOUND(404),
    METHOD_NOT_ALLOWED(405),
    BODY_TOO_LARGE(413),
    BAD_BALANCE(400),
    INVALID_JSON(400),
    WRONG_TYPE(400),
    UNKNOWN_FIELD(400),
    MISSING_FIELD(400),
    BAD_ID(400),
    BAD_AMOUNT(400),
    SAME_CLIENT(400),
    UNKNOWN_CLIENT(404),
    DATABASE_UNAVAILABLE(503),
    /** What Tomcat or Spring cannot read; the matched face has a better word for all that the contract knows. */
    BAD_REQUEST(400),
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

    ResponseEntity<byte[]> answer() {
        return ResponseEntity.status(status).contentType(MediaType.APPLICATION_JSON).body(body);
    }
}
