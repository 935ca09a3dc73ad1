// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Every case of the contract, asked over HTTP of the service as production mounts it. */
final class ContractTest {

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private Main.Running running;

    @AfterEach
    void stop() {
        if (running != null) {
            running.close();
        }
        http.close();
    }

    @TestFactory
    Stream<DynamicTest> the_matched_face_answers_byte_for_byte() throws Exception {
        serve("--face=matched");
        return ContractCase.of("matched").stream()
                .map(given -> DynamicTest.dynamicTest(given.name(), () -> check(given, send(given, false))));
    }

    @TestFactory
    Stream<DynamicTest> the_idiomatic_craft_answers_the_same_bytes() throws Exception {
        serve("--craft=idiomatic");
        return ContractCase.of("matched").stream()
                .map(given -> DynamicTest.dynamicTest(given.name(), () -> check(given, send(given, false))));
    }

    @TestFactory
    Stream<DynamicTest> a_chunked_body_is_answered_alike() throws Exception {
        serve("--face=matched");
        return ContractCase.of("matched").stream()
                .filter(given -> given.body() != null && given.body().length > 0)
                .map(given -> DynamicTest.dynamicTest(given.name(), () -> check(given, send(given, true))));
    }

    @Test
    void an_answer_says_its_date_type_and_length() throws Exception {
        serve("--face=matched");
        for (String body : List.of("{\"s\":\"hello\"}", "{}")) {
            Map<String, List<String>> headers = send("POST", "/uppercase", body).headers().map();
            for (String name : List.of("date", "content-type", "content-length")) {
                assertEquals(1, headers.getOrDefault(name, List.of()).size(), name + " of " + headers);
            }
        }
    }

    @Test
    void requests_are_counted_and_timed_by_path_and_status() throws Exception {
        serve("--face=matched");
        send("POST", "/uppercase", "{\"s\":\"hello\"}");
        send("POST", "/uppercase", "{\"s\":\"hello\"}");
        send("POST", "/work", "{}");
        send("GET", "/nothing", null);

        String type = send("GET", "/metrics", null).headers().firstValue("Content-Type").orElse("");
        assertTrue(type.startsWith("text/plain; version=0.0.4"), type);
        assertMetricsHave(List.of(
                "http_requests_total{path=\"/uppercase\",status=\"200\"} 2.0",
                "http_requests_total{path=\"/work\",status=\"400\"} 1.0",
                "http_requests_total{path=\"other\",status=\"404\"} 1.0",
                "http_request_duration_seconds_count{path=\"/uppercase\"} 2",
                "http_request_duration_seconds_bucket{path=\"/work\",le=\"2.5\"} 1",
                "jvm_memory_used_bytes{area=\"heap\"}"));
    }

    @Test
    void refused_requests_are_logged_with_the_length_they_declared(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("log");
        Settings settings = Settings.parse("--port=0", "--logging=on", "--log-sink=file", "--log-file=" + file);
        running = Main.serve(settings, AccessLog.open(settings));
        send("POST", "/uppercase", "x".repeat(65_537));
        send("POST", "/nothing", "{}");
        send("GET", "/count", null);
        // Not closed and not waited for: a line is written before its answer is sent.
        List<String> lines = Files.readAllLines(file).stream().map(line -> line.replaceAll("ts=\\S+ | took.*", "")).toList();
        assertEquals(List.of(
                "method=POST path=/uppercase status=413 bytes_in=65537 bytes_out=26",
                "method=POST path=other status=404 bytes_in=2 bytes_out=21",
                "method=GET path=/count status=405 bytes_in=0 bytes_out=30"), lines);
    }

    @Test
    void the_lean_service_answers_whatever_it_is_asked() throws Exception {
        serve("--lean");
        HttpResponse<byte[]> answer = send("POST", "/uppercase", "not JSON");
        assertEquals(200, answer.statusCode());
        assertEquals("{\"v\":\"HELLO\"}", new String(answer.body(), StandardCharsets.UTF_8));
    }

    private void serve(String flag) throws Exception {
        running = Main.serve(Settings.parse("--port=0", flag), AccessLog.off());
    }

    /** A request is counted before its answer is sent, so the counts are there without waiting. */
    private void assertMetricsHave(List<String> lines) throws Exception {
        String metrics = new String(send("GET", "/metrics", null).body(), StandardCharsets.UTF_8);
        for (String line : lines) {
            assertTrue(metrics.contains(line), line + " is not in\n" + metrics);
        }
    }

    private HttpResponse<byte[]> send(ContractCase given, boolean chunked) throws Exception {
        BodyPublisher body = given.body() == null ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(given.body());
        BodyPublisher sent = chunked ? BodyPublishers.fromPublisher(body) : body; // fromPublisher hides the length
        return send(given.method(), given.path(), sent, given.headers());
    }

    private HttpResponse<byte[]> send(String method, String path, String body) throws Exception {
        return send(method, path, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body), Map.of());
    }

    private HttpResponse<byte[]> send(String method, String path, BodyPublisher body, Map<?, ?> headers)
            throws IOException, InterruptedException {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + running.port() + path))
                .method(method, body);
        headers.forEach((name, value) -> request.header((String) name, (String) value));
        return http.send(request.build(), BodyHandlers.ofByteArray());
    }

    private static void check(ContractCase given, HttpResponse<byte[]> answer) throws IOException {
        String body = new String(answer.body(), StandardCharsets.UTF_8);
        assertEquals(given.expect().get("status"), answer.statusCode(), body);
        if (given.expect().containsKey("body")) {
            assertEquals(given.expect().get("body"), body);
            assertEquals(answer.body().length, answer.headers().firstValueAsLong("Content-Length").orElse(-1));
        }
        if (given.expect().containsKey("json")) {
            assertEquals(given.expect().get("json"), ContractCase.json(body));
        }
        if (given.expect().get("headers") instanceof Map<?, ?> headers) {
            headers.forEach((name, value) ->
                    assertEquals(value, answer.headers().firstValue((String) name).orElse(null), (String) name));
        }
    }
}
