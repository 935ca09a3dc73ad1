// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What the experiment strings-ladder compares: a constant, the answer alone, and the answer observed. */
final class StepsTest {

    private static final Pattern ALLOCATED =
            Pattern.compile("^jvm_threads_allocated_bytes_total (\\S+)$", Pattern.MULTILINE);

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private Main.Running running;

    @AfterEach
    void stop() {
        System.clearProperty("rematch.metrics");
        running.close();
        http.close();
    }

    @Test
    void what_is_not_observed_is_answered_and_not_counted() throws Exception {
        System.setProperty("rematch.metrics", "off");
        serve("--craft=idiomatic");
        assertEquals("{\"v\":\"HELLO\"}", uppercase());
        assertTrue(!metrics().contains("path=\"/uppercase\",status"), metrics());
    }

    @Test
    void without_the_property_requests_are_counted() throws Exception {
        serve("--craft=idiomatic");
        assertEquals("{\"v\":\"HELLO\"}", uppercase());
        assertTrue(metrics().contains("http_requests_total{path=\"/uppercase\",status=\"200\"} 1.0"), metrics());
    }

    @Test
    void a_lean_service_tells_what_it_allocated() throws Exception {
        serve("--lean");
        double before = allocated();
        byte[] some = new byte[1 << 20];
        assertEquals("{\"v\":\"HELLO\"}", uppercase());
        double after = allocated();
        assertTrue(after - before >= some.length, before + " and " + after);
    }

    private void serve(String flag) throws Exception {
        running = Main.serve(Settings.parse("--port=0", flag), AccessLog.off());
    }

    private String uppercase() throws Exception {
        return http.send(request("/uppercase").POST(BodyPublishers.ofString("{\"s\":\"hello\"}")).build(),
                BodyHandlers.ofString()).body();
    }

    private String metrics() throws Exception {
        return http.send(request("/metrics").build(), BodyHandlers.ofString()).body();
    }

    private double allocated() throws Exception {
        String text = metrics();
        Matcher found = ALLOCATED.matcher(text);
        assertTrue(found.find(), text);
        return Double.parseDouble(found.group(1));
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + running.port() + path));
    }
}
