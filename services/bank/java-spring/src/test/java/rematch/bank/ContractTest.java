// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Every case of the contract, asked over HTTP of the service as production mounts it, on a real database. */
final class ContractTest {

    private DatabaseAddress database;
    private Main.Running running;
    private Asker asker;

    @AfterEach
    void stop() {
        if (running != null) {
            asker.close();
            running.close();
        }
    }

    @TestFactory
    Stream<DynamicTest> the_matched_face_answers_byte_for_byte() throws Exception {
        return cases("matched", false, "--face=matched");
    }

    @TestFactory
    Stream<DynamicTest> the_tuned_craft_answers_byte_for_byte() throws Exception {
        return cases("matched", false, "--craft=tuned");
    }

    @TestFactory
    Stream<DynamicTest> the_tuned_craft_changes_no_answer_on_virtual_threads_with_a_connection_per_statement()
            throws Exception {
        return cases("matched", false, "--craft=tuned", "--threads=virtual", "--connections=per-statement");
    }

    @TestFactory
    Stream<DynamicTest> a_chunked_body_is_answered_alike_in_the_tuned_craft() throws Exception {
        return cases("matched", true, "--craft=tuned");
    }

    @TestFactory
    Stream<DynamicTest> virtual_threads_and_a_connection_per_statement_change_no_answer() throws Exception {
        return cases("matched", false, "--threads=virtual", "--connections=per-statement");
    }

    @TestFactory
    Stream<DynamicTest> a_chunked_body_is_answered_alike() throws Exception {
        return cases("matched", true, "--face=matched");
    }

    @TestFactory
    Stream<DynamicTest> the_published_face_answers_as_the_article_did() throws Exception {
        return cases("published", false, "--face=published");
    }

    @TestFactory
    Stream<DynamicTest> the_repaired_face_answers_as_the_rematch_did() throws Exception {
        return cases("repaired", false, "--face=repaired", "--pool-size=4");
    }

    @ParameterizedTest
    @ValueSource(strings = {"idiomatic", "tuned"})
    void requests_and_connections_are_counted(String craft) throws Exception {
        serve("--craft=" + craft, "--pool-size=3");
        int a = asker.open(7);
        asker.get("/client/" + a + "/balance");
        asker.get("/client/x/balance");
        asker.get("/nothing");

        HttpResponse<String> answer = asker.get("/metrics");
        String type = answer.headers().firstValue("Content-Type").orElse("");
        assertTrue(type.matches("text/plain; ?version=0\\.0\\.4;.*"), type);
        for (String line : List.of(
                "http_requests_total{path=\"/client/new\",status=\"200\"} 1.0",
                "http_requests_total{path=\"/client/balance\",status=\"200\"} 1.0",
                "http_requests_total{path=\"/client/balance\",status=\"400\"} 1.0",
                "http_requests_total{path=\"other\",status=\"404\"} 1.0",
                "http_request_duration_seconds_count{path=\"/client/balance\"} 2",
                "http_request_duration_seconds_bucket{path=\"/client/new\",le=\"+Inf\"} 1",
                "db_connections{state=\"in_use\"} 0.0",
                "db_connections{state=\"idle\"} 1.0",
                "db_connections_opened_total 1.0",
                "jvm_memory_used_bytes{area=\"heap\"}")) {
            assertTrue(answer.body().contains(line), line + " is not in\n" + answer.body());
        }
    }

    @Test
    void a_connection_per_statement_is_counted_open_only_while_it_is() throws Exception {
        serve("--connections=per-statement");
        int a = asker.open(7);
        asker.get("/client/" + a + "/balance");
        String metrics = asker.get("/metrics").body();
        assertTrue(metrics.contains("db_connections{state=\"in_use\"} 0.0"), metrics);
        assertTrue(metrics.contains("db_connections_opened_total 2.0"), metrics);
    }

    @ParameterizedTest
    @ValueSource(strings = {"idiomatic", "tuned"})
    void refused_requests_are_logged_with_the_length_they_declared(String craft, @TempDir Path folder) throws Exception {
        Path file = folder.resolve("log");
        serve("--craft=" + craft, "--logging=on", "--log-sink=file", "--log-file=" + file);
        asker.open(1);
        asker.post("/transaction", "x".repeat(65_537));
        asker.send("POST", "/transaction", chunked("{}"), Map.of());
        asker.get("/client/0/balance?x=1");
        asker.get("/metrics");
        asker.post("/nothing", "{}");

        List<String> lines =
                Files.readAllLines(file).stream().map(line -> line.replaceAll("ts=\\S+ | took.*", "")).toList();
        assertEquals(List.of(
                "method=POST path=/client/new status=200 bytes_in=0 bytes_out=40",
                "method=POST path=/transaction status=413 bytes_in=65537 bytes_out=26",
                "method=POST path=/transaction status=400 bytes_in=2 bytes_out=25",
                "method=GET path=/client/balance status=400 bytes_in=0 bytes_out=18",
                "method=POST path=other status=404 bytes_in=2 bytes_out=21"), lines);
    }

    @Test
    void the_published_face_logs_a_line_for_every_statement(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("log");
        serve("--face=published", "--logging=on", "--log-sink=file", "--log-file=" + file);
        int a = asker.open(5);
        asker.get("/client/" + a + "/balance");
        assertEquals(List.of("Created client with id 1", "Created transaction with id 1",
                "Get balance for client with id 1"), Files.readAllLines(file));
    }

    @ParameterizedTest
    @ValueSource(strings = {"published", "repaired"})
    void the_old_faces_bound_bodies_too(String face) throws Exception {
        serve("--face=" + face, "--pool-size=2");
        assertEquals(413, asker.post("/transaction", "x".repeat(65_537)).statusCode());
        assertEquals(400, asker.post("/transaction", "{").statusCode());
    }

    @Test
    void the_lean_service_answers_constants_without_a_database() throws Exception {
        running = Main.serve(Settings.parse("--port=0", "--lean"), null, AccessLog.off());
        asker = new Asker(running.port());
        assertEquals("{\"id\":1,\"name\":\"\",\"email\":\"\",\"phone\":\"\"}", asker.post("/client/new/x", "?").body());
        assertEquals("{\"id\":2,\"amount\":1,\"from_client_id\":1,\"to_client_id\":2}",
                asker.post("/transaction", "no JSON").body());
        assertEquals("{\"balance\":0}", asker.get("/client/x/balance").body());
        assertEquals("{\"status\":\"up\"}", asker.get("/health").body());
        assertEquals(404, asker.get("/metrics").statusCode());
        assertEquals(404, asker.get("/transaction").statusCode());
    }

    @TestFactory
    Stream<DynamicTest> no_content_type_keeps_a_body_from_being_read() throws Exception {
        serve("--face=matched");
        int a = asker.open(1);
        int b = asker.open(1);
        String body = "{\"from_client_id\":" + a + ",\"to_client_id\":" + b + ",\"amount\":1}";
        return Stream.of("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "nonsense", ";")
                .map(type -> DynamicTest.dynamicTest(type, () -> {
                    HttpResponse<String> answer = asker.send("POST", "/transaction", BodyPublishers.ofString(body),
                            Map.of("Content-Type", type, "Accept", "image/png"));
                    assertEquals(200, answer.statusCode(), answer.body());
                }));
    }

    @TestFactory
    Stream<DynamicTest> what_no_client_library_sends_is_answered_in_short() throws Exception {
        serve("--face=matched");
        return Stream.of(
                "GET /client/1%2F2/balance HTTP/1.1=404", "GET /client/1;x=1/balance HTTP/1.1=404",
                "TRACE /transaction HTTP/1.1=405", "OPTIONS /transaction HTTP/1.1=405", "BREW /health HTTP/1.1=405",
                "GET /error HTTP/1.1=404", "HEAD /health HTTP/1.1=200", "GET /a|b HTTP/1.1=400",
                "GET /%zz HTTP/1.1=400", "GET /../x HTTP/1.1=400", "NONSENSE=400")
                .map(asked -> DynamicTest.dynamicTest(asked, () -> {
                    String[] sides = asked.split("=(?=[0-9]+$)");
                    String answer = raw(sides[0]);
                    assertTrue(answer.startsWith("HTTP/1.1 " + sides[1] + " "), answer);
                    assertFalse(answer.contains("<"), answer);
                    assertFalse(answer.contains("xception"), answer);
                }));
    }

    private String raw(String requestLine) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", running.port())) {
            socket.getOutputStream().write((requestLine + "\r\nHost: x\r\nConnection: close\r\n\r\n")
                    .getBytes(StandardCharsets.US_ASCII));
            return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private Stream<DynamicTest> cases(String face, boolean chunked, String... flags) throws Exception {
        serve(flags);
        Map<String, String> captured = new TreeMap<>();
        List<ContractCase> cases = ContractCase.of(face);
        assertFalse(cases.isEmpty());
        return Stream.concat(
                cases.stream().map(given ->
                        DynamicTest.dynamicTest(given.name(), () -> check(given, captured, chunked))),
                Stream.of(DynamicTest.dynamicTest("every invariant holds", () -> Invariants.hold(database))));
    }

    private void check(ContractCase template, Map<String, String> captured, boolean chunked) throws Exception {
        HttpResponse<String> answer = send(template.with(captured), chunked);
        template.capture().forEach((name, pointer) ->
                captured.put(name, ContractCase.JSON.readTree(answer.body()).at(pointer).asString()));
        ContractCase given = template.with(captured); // what is expected may name what was just captured
        JsonNode expect = given.expect();
        assertEquals(expect.get("status").asInt(), answer.statusCode(), answer.body());
        if (expect.has("body")) {
            assertEquals(expect.get("body").asString(), answer.body());
            assertEquals(answer.body().length(), answer.headers().firstValueAsLong("Content-Length").orElse(-1));
        }
        if (expect.has("json")) {
            assertEquals(expect.get("json"), ContractCase.JSON.readTree(answer.body()));
        }
        given.expectedHeaders().forEach((name, value) ->
                assertEquals(value, answer.headers().firstValue(name).orElse(null), name));
    }

    private HttpResponse<String> send(ContractCase given, boolean chunked) throws IOException, InterruptedException {
        BodyPublisher body = given.body() == null || given.body().length == 0 ? BodyPublishers.noBody()
                : chunked ? BodyPublishers.fromPublisher(BodyPublishers.ofByteArray(given.body()))
                : BodyPublishers.ofByteArray(given.body());
        return asker.send(given.method(), given.path(), body, given.headers());
    }

    private static BodyPublisher chunked(String body) {
        return BodyPublishers.fromPublisher(BodyPublishers.ofString(body)); // fromPublisher hides the length
    }

    private void serve(String... flags) throws Exception {
        database = Postgres.shared().database();
        String[] all = Stream.concat(Stream.of("--port=0"), Stream.of(flags)).toArray(String[]::new);
        Settings settings = Settings.parse(all);
        running = Main.serve(settings, database, AccessLog.open(settings));
        asker = new Asker(running.port());
    }
}
