// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the published face does beside answering. */
final class PublishedTest {

    @Test
    void every_request_is_counted_and_marked_whatever_its_path() throws Exception {
        try (Main.Running running = serve("--port=0", "--face=published")) {
            send(running, "/uppercase", "{\"s\":\"hello\"}");
            send(running, "/count", "nonsense");
            send(running, "/nothing", "{}");
            String metrics = send(running, "/metrics", null); // the fourth
            assertTrue(metrics.contains("\nvendor_requests_count_total 4.0\n"), metrics);
            assertTrue(metrics.contains("\nvendor_requests_meter_total 4.0\n"), metrics);
            for (String rate : List.of("rate", "one_min_rate", "five_min_rate", "fifteen_min_rate")) {
                assertTrue(metrics.contains("\nvendor_requests_meter_" + rate + "_per_second "), metrics);
            }
        }
    }

    @Test
    void what_is_asked_is_logged_before_it_is_looked_at(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("log");
        try (Main.Running running =
                serve("--port=0", "--face=published", "--logging=on", "--log-sink=file", "--log-file=" + file)) {
            send(running, "/uppercase", "{\"s\":\"hello\"}");
            send(running, "/count", "{}");
            send(running, "/count", "{");
        }
        List<String> messages = Files.readAllLines(file).stream()
                .map(line -> line.replaceFirst(".*: (\\w+ request: )", "$1"))
                .toList();
        assertEquals(List.of("Uppercase request: hello", "Count request: null"), messages);
    }

    private static Main.Running serve(String... flags) throws Exception {
        Settings settings = Settings.parse(flags);
        return Main.serve(settings, AccessLog.open(settings));
    }

    private static String send(Main.Running running, String path, String body) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + running.port() + path));
        try (HttpClient http = HttpClient.newHttpClient()) {
            return http.send(
                    (body == null ? request : request.POST(BodyPublishers.ofString(body))).build(),
                    BodyHandlers.ofString()).body();
        }
    }
}
