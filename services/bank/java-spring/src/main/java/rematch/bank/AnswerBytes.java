// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.http.MediaType;

/** An answer that is built as bytes and goes past Spring's converters into the server's buffer. */
final class AnswerBytes {

    private static final int LONGEST = 128; // a transfer's has 91 at most

    private final byte[] bytes = new byte[LONGEST];
    private int size;

    // The deprecated getBytes copies ASCII straight into place, which is all that is wanted here.
    @SuppressWarnings("deprecation")
    AnswerBytes put(String ascii) {
        ascii.getBytes(0, ascii.length(), bytes, size);
        size += ascii.length();
        return this;
    }

    AnswerBytes put(long number) {
        return put(Long.toString(number));
    }

    void send(HttpServletResponse response) throws IOException {
        response.setContentType(MediaType.APPLICATION_JSON_VALUE);
        response.getOutputStream().write(bytes, 0, size);
    }
}
