// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jakarta.servlet.ServletException;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.catalina.Engine;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;
import org.junit.jupiter.api.Test;
import org.springframework.boot.tomcat.TomcatWebServer;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
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

    /** A graceful stop waits for servlets in use; an answer sent later than that may be cut off. */
    @Test
    void an_answer_is_with_its_client_before_the_servlet_is_given_back() throws Exception {
        try (Main.Running running = Main.serve(Settings.parse("--port=0"),
                new DatabaseAddress("127.0.0.1", 1, "u", "", "d"), AccessLog.off());
                Asker asker = new Asker(running.port())) {
            CountDownLatch answered = new CountDownLatch(1);
            CompletableFuture<Boolean> before = new CompletableFuture<>();
            engine(running).getPipeline().addValve(new ValveBase() {
                @Override
                public void invoke(Request request, Response response) throws IOException, ServletException {
                    getNext().invoke(request, response);
                    try {
                        before.complete(answered.await(60, TimeUnit.SECONDS));
                    } catch (InterruptedException stopped) {
                        before.completeExceptionally(stopped);
                    }
                }
            });
            assertEquals(200, asker.get("/health").statusCode());
            answered.countDown();
            assertTrue(before.get());
        }
    }

    private static Engine engine(Main.Running running) {
        return ((TomcatWebServer) ((WebServerApplicationContext) running.context()).getWebServer()).getTomcat().getEngine();
    }
}
