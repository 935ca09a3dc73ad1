// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every case of the contract, asked over HTTP of the service as production starts it. */
final class ContractTest {

    private static Postgres postgres;
    private static UpstreamStub upstream;

    /** A service takes 130 MiB: the one that was used longest ago ends when another one is started. */
    private static final int MOST_RUNNING = 2;

    /** By their flags, the one used last at the end: starting one takes longer than asking it. */
    private static final Map<String, Running> RUNNING = new LinkedHashMap<>(16, 0.75f, true);

    private Asking asking;

    @BeforeAll
    static void surroundings() throws Exception {
        postgres = Postgres.start();
        upstream = UpstreamStub.start();
    }

    @AfterAll
    static void gone() throws Exception {
        RUNNING.values().forEach(Running::close);
        upstream.close();
        postgres.close();
    }

    @TestFactory
    Stream<DynamicTest> the_matched_face_answers_byte_for_byte_when_threads_wait() throws Exception {
        serve("--mode=blocking");
        return Stream.concat(cases("matched", false), cases("matched", true));
    }

    @TestFactory
    Stream<DynamicTest> the_matched_face_answers_byte_for_byte_when_no_thread_waits() throws Exception {
        serve("--mode=reactive");
        return Stream.concat(cases("matched", false), cases("matched", true));
    }

    @TestFactory
    Stream<DynamicTest> the_tuned_craft_answers_the_same_bytes_when_threads_wait() throws Exception {
        serve("--mode=blocking", "--craft=tuned", "--pool-size=2");
        return Stream.concat(cases("matched", false), cases("matched", true));
    }

    @TestFactory
    Stream<DynamicTest> the_tuned_craft_answers_the_same_bytes_when_no_thread_waits() throws Exception {
        serve("--mode=reactive", "--craft=tuned", "--pool-size=2");
        return Stream.concat(cases("matched", false), cases("matched", true));
    }

    @TestFactory
    Stream<DynamicTest> the_published_face_answers_as_the_article_did() throws Exception {
        serve("--face=published", "--mode=reactive");
        return cases("published", false);
    }

    @TestFactory
    Stream<DynamicTest> the_published_face_answers_alike_when_threads_wait() throws Exception {
        serve("--face=published");
        return cases("published", false);
    }

    @TestFactory
    Stream<DynamicTest> the_matched_face_answers_byte_for_byte_with_both_calls_at_once() throws Exception {
        serve("--calls=parallel", "--pool-size=4");
        return cases("matched", false);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--mode=blocking --calls=parallel", "--mode=reactive --calls=parallel",
        "--mode=blocking --craft=tuned --calls=parallel --pool-size=1",
        "--mode=reactive --craft=tuned --calls=parallel --pool-size=1",
        "--mode=reactive --face=published --pool-size=3"})
    void calls_at_once_are_under_way_together(String flags) throws Exception {
        serve(flags.split(" "));
        CountDownLatch both = new CountDownLatch(2);
        upstream.behave((path, out) -> {
            both.countDown();
            both.await(); // nobody is answered before both calls are there
            UpstreamStub.right(path, out);
            return true;
        });
        try {
            assertEquals(200, asking.get("/hello").status());
        } finally {
            upstream.recover();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"blocking", "reactive"})
    void the_published_face_is_spelled_as_published(String mode) throws Exception {
        serve("--face=published", "--mode=" + mode, "--minor-percent=50", "--pool-size=2");
        upstream.asked();
        String adult = asking.get("/hello").body();
        String minor = asking.get("/hello").body();
        assertTrue(adult.startsWith("{\"client\":{\"id\":0,\"name\":\"A\",\"age\":18,\"guardianID\":0,\"monthSalary\":3000.0,"
                + "\"address\":{\"street\":\"123 Main St\",\"number\":42,\"state\":\"CA\",\"country\":\"USA\"},\"phones\":["), adult);
        assertTrue(adult.endsWith("],\"favoriteDirector\":\"J J Abrams\"},\"loanOptions\":["
                + "{\"years\":1,\"loan\":1004.4,\"monthlyInstallment\":90.0},"
                + "{\"years\":2,\"loan\":2008.8,\"monthlyInstallment\":90.0},"
                + "{\"years\":3,\"loan\":3013.2,\"monthlyInstallment\":90.0}]}"), adult);
        assertTrue(minor.startsWith("{\"client\":{\"id\":1,\"name\":\"B\",\"age\":17,"), minor);
        assertTrue(minor.endsWith(",\"loanOptions\":[]}"), minor);
        assertEquals(Set.of("/phones/0", "/address/0", "/phones/1"), Set.copyOf(upstream.asked()));
        for (int turn = 3; turn <= 4; turn++) {
            asking.get("/db");
        }
        assertEquals("{\"client\":{\"id\":4,\"name\":\"E\",\"age\":22,\"guardianID\":0,\"monthSalary\":5000.0,\"address\":null,"
                + "\"phones\":null,\"favoriteDirector\":\"Anthony Russo & Joe Russo\"},\"movies\":["
                + "{\"title\":\"Avengers: Endgame\",\"year\":2019,\"cost\":356.0,\"director\":\"Anthony Russo & Joe Russo\"},"
                + "{\"title\":\"Avengers: Infinity War\",\"year\":2018,\"cost\":325.0,\"director\":\"Anthony Russo & Joe Russo\"}]}",
                asking.get("/db").body());
    }

    @ParameterizedTest
    @ValueSource(strings = {"blocking", "reactive"})
    void the_published_face_answers_faults_as_published(String mode) throws Exception {
        serve("--face=published", "--mode=" + mode, "--pool-size=1");
        upstream.down();
        try {
            assertEquals(500, asking.get("/hello").status());
        } finally {
            upstream.up();
        }
        assertEquals(200, asking.get("/hello").status());
        postgres.ask("clients", "alter table movie rename to film");
        try {
            assertEquals("200 {\"client\":null,\"movies\":null}", asking.get("/db").toString());
        } finally {
            postgres.ask("clients", "alter table film rename to movie");
        }
        assertEquals(200, asking.get("/db").status());
    }

    @ParameterizedTest
    @ValueSource(strings = {"blocking", "reactive"})
    void turns_go_round_whoever_asks(String mode) throws Exception {
        serve("--mode=" + mode);
        int before = turn("/hello");
        List<Integer> clients = new ArrayList<>();
        List<Integer> expected = new ArrayList<>();
        for (int turn = 0; turn < 22; turn++) {
            expected.add((before + turn) % 10 + 1);
            clients.add(turn(turn % 2 == 0 ? "/hello" : "/db"));
            asking.get("/hello?client=7");
            asking.get("/db?client=11");
            asking.get("/nothing");
        }
        assertEquals(expected, clients);
    }

    private int turn(String path) throws Exception {
        return ContractCase.json(asking.get(path).body()).get("id").asInt();
    }

    @ParameterizedTest
    @ValueSource(strings = {"--mode=blocking", "--mode=reactive", "--mode=blocking --craft=tuned",
        "--mode=reactive --craft=tuned"})
    void a_minor_has_the_address_of_the_guardian_and_costs_as_many_calls(String flags) throws Exception {
        serve((flags + " --minor-percent=50 --pool-size=1").split(" "));
        upstream.asked();
        String adult = asking.get("/hello").body();
        String minor = asking.get("/hello").body();
        assertTrue(adult.contains("\"age\":18,") && adult.contains("\"years\":3"), adult);
        assertTrue(minor.contains("\"age\":17,"), minor);
        assertTrue(minor.endsWith(",\"country\":\"USA\"},\"loan_options\":[]}"), minor);
        assertEquals(List.of("/phones/1", "/address/1", "/phones/2", "/address/1"), upstream.asked());
    }

    @ParameterizedTest
    @ValueSource(strings = {"--mode=blocking", "--mode=reactive", "--mode=blocking --craft=tuned --pool-size=2",
        "--mode=reactive --craft=tuned --pool-size=2"})
    void films_without_a_year_or_a_cost_have_null_there(String flags) throws Exception {
        serve(flags.split(" "));
        postgres.ask("clients", "insert into movie values ('Unknown', null, null, 'J J Abrams'), ('\"é\"', 7, 0, null), "
                + "('\"no\" year', -7, -0.5, 'J J Abrams')");
        try {
            String body = asking.get("/db?client=1").body();
            assertTrue(body.endsWith(",{\"title\":\"Unknown\",\"year\":null,\"cost\":null},"
                    + "{\"title\":\"\\\"no\\\" year\",\"year\":-7,\"cost\":-0.50}]}"), body);
            postgres.ask("clients", "delete from movie");
            assertTrue(asking.get("/db?client=1").body().endsWith(",\"films\":[]}"));
        } finally {
            postgres.fill();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"blocking", "reactive"})
    void a_slow_body_is_given_30_seconds_and_here_less(String mode) throws Exception {
        Map<String, String> environment = new HashMap<>(postgres.environment(upstream.url()));
        environment.put("REMATCH_REQUEST_LIMIT_MS", "300"); // the contract's are not for a test to wait
        // a busy machine may need longer for its first answer than the usual limit of a call
        try (Service slow = Service.start(environment, "--port=0", "--mode=" + mode, "--upstream-timeout-ms=30000")) {
            int port = slow.port();
            try (Asking another = new Asking(port)) {
                assertCutOff(port, another);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"idiomatic", "tuned"})
    void requests_are_counted_and_timed_by_path_and_status(String craft) throws Exception {
        serve("--upstream-connections=2", "--craft=" + craft, "--pool-size=1"); // a service of its own
        asking.get("/hello");
        asking.get("/hello?client=3");
        asking.get("/db?client=0");
        asking.get("/nothing");
        String type = asking.get("/metrics").whole().headers().firstValue("Content-Type").orElse("");
        assertTrue(type.startsWith("text/plain; version=0.0.4"), type);
        String metrics = asking.metricsWith(List.of(
                "http_requests_total{path=\"/hello\",status=\"200\"} 2.0",
                "http_requests_total{path=\"/db\",status=\"400\"} 1.0",
                "http_requests_total{path=\"other\",status=\"404\"} 1.0",
                "http_request_duration_seconds_count{path=\"/hello\"} 2",
                "http_request_duration_seconds_bucket{path=\"/db\",le=\"2.5\"} 1",
                "db_connections{state=\"in_use\"} 0.0",
                "jvm_memory_used_bytes{area=\"heap\"}"));
        assertTrue(asking.metric("db_connections{state=\"idle\"}") >= 0, metrics);
        assertTrue(!metrics.contains("path=\"/metrics\""), metrics);
    }

    @ParameterizedTest
    @ValueSource(strings = {"idiomatic", "tuned"})
    void requests_are_logged_with_the_lengths_of_their_bodies(String craft, @TempDir Path folder) throws Exception {
        Path file = folder.resolve("log");
        serve("--craft=" + craft, "--pool-size=1", "--logging=on", "--log-sink=file", "--log-file=" + file);
        int hello = asking.get("/hello?client=1").body().length();
        assertEquals(1, lines(file).size(), "a line is written before its answer is sent");
        asking.send("GET", "/db?client=x", BodyPublishers.ofString("abc"), Map.of());
        asking.send("POST", "/nothing", BodyPublishers.ofString("{}"), Map.of());
        asking.send("GET", "/db", BodyPublishers.ofString("x".repeat(65_537)), Map.of());
        asking.get("/health");
        List<String> lines =
                lines(file).stream().map(line -> line.replaceAll("ts=\\S+ | took.*", "")).toList();
        assertEquals(List.of(
                "method=GET path=/hello status=200 bytes_in=0 bytes_out=" + hello,
                "method=GET path=/db status=400 bytes_in=3 bytes_out=22",
                "method=POST path=other status=404 bytes_in=2 bytes_out=21",
                "method=GET path=/db status=413 bytes_in=65537 bytes_out=26"), lines);
    }

    @Test
    void the_lean_service_needs_nobody_and_knows_one_answer() throws Exception {
        start(Map.of(), "--port=0", "--lean");
        String constant = ContractCase.of("matched").stream()
                .filter(given -> given.path().equals("/hello?client=1") && given.expect().has("body"))
                .findFirst().orElseThrow().expect().get("body").asText();
        assertEquals(constant, asking.get("/hello").body());
        assertEquals("{\"status\":\"up\"}", asking.get("/health").body());
        assertEquals(404, asking.get("/db").status());
        assertEquals(404, asking.send("POST", "/hello", BodyPublishers.noBody(), Map.of()).status());
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /** A byte now and then: it is not silence that ends it. */
    private static void assertCutOff(int port, Asking another) throws Exception {
        try (Socket dripping = new Socket("127.0.0.1", port)) {
            Thread closed = Thread.ofVirtual().start(() -> awaitEnd(dripping));
            OutputStream out = dripping.getOutputStream();
            out.write("GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            Asking.until("it is cut off", () -> {
                try {
                    out.write('a');
                } catch (IOException gone) {
                    // as it should be
                }
                return !closed.isAlive();
            });
        }
        assertEquals(200, another.get("/hello").status());
    }

    private static void awaitEnd(Socket socket) {
        try {
            socket.getInputStream().readAllBytes();
        } catch (IOException reset) {
            // closed as well
        }
    }

    private void serve(String... flags) throws Exception {
        start(postgres.environment(upstream.url()),
                Stream.concat(Stream.of("--port=0"), Stream.of(flags)).toArray(String[]::new));
    }

    private void start(Map<String, String> environment, String... flags) throws Exception {
        String key = String.join(" ", flags);
        if (!RUNNING.containsKey(key)) { // one that an image refused is started, and refused, again
            if (RUNNING.size() == MOST_RUNNING) {
                RUNNING.remove(RUNNING.keySet().iterator().next()).close();
            }
            Service service = Service.start(environment, flags);
            RUNNING.put(key, new Running(service, new Asking(service.port())));
        }
        asking = RUNNING.get(key).asking();
    }

    private record Running(Service service, Asking asking) {

        void close() {
            asking.close();
            service.close();
        }
    }

    private Stream<DynamicTest> cases(String face, boolean chunked) throws Exception {
        Asking asking = this.asking;
        return ContractCase.of(face).stream()
                .filter(given -> !chunked || given.body() != null)
                .map(given -> DynamicTest.dynamicTest(given.name(), () -> check(given, send(asking, given, chunked))));
    }

    private static Asking.Said send(Asking asking, ContractCase given, boolean chunked) throws Exception {
        BodyPublisher body = given.body() == null ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(given.body());
        // fromPublisher hides the length
        return asking.send(given.method(), given.path(), chunked ? BodyPublishers.fromPublisher(body) : body,
                given.headers());
    }

    private static void check(ContractCase given, Asking.Said said) throws IOException {
        JsonNode expect = given.expect();
        assertEquals(expect.get("status").asInt(), said.status(), said.body());
        if (expect.has("body")) {
            assertEquals(expect.get("body").asText(), said.body());
            assertEquals(said.whole().body().length,
                    said.whole().headers().firstValueAsLong("Content-Length").orElse(-1));
        }
        if (expect.has("json")) {
            assertEquals(expect.get("json"), ContractCase.json(said.body()));
        }
        if (expect.has("one_of")) {
            List<JsonNode> allowed = new ArrayList<>();
            expect.get("one_of").forEach(allowed::add);
            assertTrue(allowed.contains(ContractCase.json(said.body())), said.body());
        }
        expect.path("headers").properties().forEach(header -> assertEquals(header.getValue().asText(),
                said.whole().headers().firstValue(header.getKey()).orElse(null), header.getKey()));
    }
}
