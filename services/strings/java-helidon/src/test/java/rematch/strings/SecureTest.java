// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.junit.jupiter.api.Test;

final class SecureTest {

    private static final String REQUEST =
            "POST /uppercase HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n{\"s\":\"hello\"}";

    @Test
    void the_flag_is_taken_out_of_the_others() throws Exception {
        assertTrue(Secure.of("--port=0", "--tls=on").on());
        assertFalse(Secure.of("--tls=on", "--tls=off").on());
        assertEquals("--port=0", Secure.of("--port=0", "--tls=on").others()[0]);
        assertThrows(Settings.BadFlag.class, () -> Secure.of("--tls=yes"));
    }

    @Test
    void the_same_answer_comes_by_the_suite_that_go_takes() throws Exception {
        Settings settings = Settings.parse("--port=0", "--craft=idiomatic");
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {new Trusting()}, null);
        try (Main.Running running = Main.serve(settings, null, new Secure(true));
                SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("127.0.0.1", running.port())) {
            OutputStream out = socket.getOutputStream();
            out.write(REQUEST.getBytes(StandardCharsets.US_ASCII));
            out.flush();
            StringBuilder answer = new StringBuilder();
            while (!answer.toString().endsWith("{\"v\":\"HELLO\"}")) {
                int next = socket.getInputStream().read();
                assertTrue(next >= 0, answer.toString());
                answer.append((char) next);
            }
            assertEquals("TLSv1.3", socket.getSession().getProtocol());
            assertEquals("TLS_AES_128_GCM_SHA256", socket.getSession().getCipherSuite());
        }
    }

    /** The certificate is one that nobody can verify. */
    private static final class Trusting extends X509ExtendedTrustManager {

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, java.net.Socket socket) {
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, java.net.Socket socket) {
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, javax.net.ssl.SSLEngine engine) {
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, javax.net.ssl.SSLEngine engine) {
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) {
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) {
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
