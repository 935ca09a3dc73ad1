// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.springframework.mock.web.MockHttpServletResponse;

/** Tomcat sends an answer once it is flushed, or as long as it was said to be: before the request's log line. */
class HeldAnswerTest {

    private final MockHttpServletResponse sent = new MockHttpServletResponse();
    private final HeldAnswer answer = new HeldAnswer(sent);

    @Test
    void no_length_is_told_beforehand() {
        answer.setContentLength(2);
        answer.setContentLengthLong(2);
        answer.setHeader("Content-Length", "2");
        answer.addHeader("content-length", "2");
        answer.setHeader("Allow", "GET");
        assertNull(sent.getHeader("Content-Length"));
        assertEquals("GET", sent.getHeader("Allow"));
    }

    @Test
    void a_flush_sends_nothing() throws IOException {
        answer.getOutputStream().write(new byte[] {'{', '}'});
        answer.getOutputStream().flush();
        answer.getOutputStream().close();
        answer.flushBuffer();
        assertFalse(sent.isCommitted());
        assertEquals(2, answer.bytesWritten());
    }
}
