// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What becomes of requests while upstream or database fail, and afterwards. One service lives through all of it: each
 * test ends when it is as before.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class FaultsSuite {

    private static final String TIMEOUT = "504 {\"error\":\"upstream_timeout\"}";
    private static final String UNAVAILABLE = "502 {\"error\":\"upstream_unavailable\"}";
    private static final String BAD_ANSWER = "502 {\"error\":\"upstream_bad_answer\"}";
    private static final String TOO_LARGE = "413 {\"error\":\"body_too_large\"}";
    private static final String NO_DATABASE = "503 {\"error\":\"database_unavailable\"}";
    private static final int UPSTREAM_CONNECTIONS = 3;
    private static final int POOL_SIZE = 4;
    private static final String CLOSE_WAIT = "08";

    private final String[] variant;
    private Postgres postgres;
    private UpstreamStub upstream;
    private Service service;
    private Asking asking;
    private int port;

    /** @param variant the flags that make the difference between the subclasses */
    FaultsSuite(String... variant) {
        this.variant = variant;
    }

    /** Neither upstream nor database is there when the service starts. */
    @BeforeAll
    void start() throws Exception {
        postgres = Postgres.start();
        postgres.kill();
        upstream = UpstreamStub.start();
        upstream.down();
        Stream<String> flags = Stream.of("--port=0", "--upstream-timeout-ms=3000",
                "--upstream-connections=" + UPSTREAM_CONNECTIONS, "--pool-size=" + POOL_SIZE, "--pool-min=2",
                "--pool-wait-ms=2000");
        service = Service.start(postgres.environment(upstream.url()),
                Stream.concat(flags, Stream.of(variant)).toArray(String[]::new));
        port = service.port();
        asking = new Asking(port);
        assertEquals("{\"status\":\"up\"}", asking.get("/health").body());
        Asking.until("the first requests are over, which load classes", () -> status("/hello") == 502);
        assertEquals(UNAVAILABLE, asking.get("/hello").toString());
        assertEquals(NO_DATABASE, asking.get("/db").toString());
        upstream.up();
        postgres.up();
        assertRecovers();
    }

    @AfterEach
    void assertRecovers() throws Exception {
        upstream.recover();
        Asking.until("the upstream is used again", () -> status("/hello") == 200);
        Asking.until("the database is used again", () -> status("/db") == 200);
        assertTrue(asking.getAtOnce("/hello", 6).stream().allMatch(said -> said.status() == 200));
        assertTrue(asking.getAtOnce("/db", 6).stream().allMatch(said -> said.status() == 200));
        Asking.until("nothing is in use any more", () -> metric("db_connections{state=\"in_use\"}") == 0);
        Asking.until("no connection to the upstream is left over",
                () -> upstream.connections() <= UPSTREAM_CONNECTIONS);
        // PostgreSQL may still be ending one that the service has closed
        Asking.until("no more connections than the pool has are open", () -> connections() <= POOL_SIZE);
        Asking.until("the service knows its connections",
                () -> metric("db_connections{state=\"idle\"}") == connections());
    }

    @AfterAll
    void stop() throws Exception {
        asking.close();
        service.close();
        upstream.close();
        Asking.until("no connection to the database is left", () -> connections() == 0);
        postgres.close();
    }

    @Test
    void a_slow_upstream_is_a_timeout_and_its_connections_are_not_used_again() throws Exception {
        upstream.behave((path, out) -> {
            Thread.sleep(600_000);
            return false;
        });
        assertAll(TIMEOUT, asking.getAtOnce("/hello", 12));
        Asking.until("late connections are closed", () -> upstream.busy() == 0);
    }

    @Test
    void an_upstream_that_never_stops_talking_is_a_timeout() throws Exception {
        upstream.behave((path, out) -> {
            out.write("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n[".getBytes(StandardCharsets.US_ASCII));
            while (true) {
                out.write(' ');
                out.flush();
                Thread.sleep(100);
            }
        });
        assertEquals(TIMEOUT, asking.get("/hello").toString());
        Asking.until("the connection is closed", () -> upstream.busy() == 0);
    }

    @Test
    void waiting_for_a_connection_to_the_upstream_is_part_of_the_time_allowed() throws Exception {
        upstream.behave((path, out) -> {
            Thread.sleep(500);
            return UpstreamStub.right(path, out);
        });
        Set<String> said = asking.getAtOnce("/hello?client=1", 24).stream()
                .map(answer -> answer.status() == 200 ? "200" : answer.toString()).collect(Collectors.toSet());
        assertTrue(said.contains(TIMEOUT), said.toString());
        assertTrue(Set.of("200", TIMEOUT).containsAll(said), said.toString());
    }

    @Test
    void no_more_connections_to_the_upstream_are_opened_than_allowed() throws Exception {
        upstream.behave((path, out) -> {
            Thread.sleep(5);
            return UpstreamStub.right(path, out);
        });
        upstream.forget();
        assertTrue(asking.getAtOnce("/hello", 40).stream().allMatch(said -> said.status() == 200));
        assertTrue(upstream.busiest() <= UPSTREAM_CONNECTIONS, "busy: " + upstream.busiest());
    }

    @Test
    void an_upstream_that_goes_down_is_unavailable_until_it_is_back() throws Exception {
        upstream.down();
        Asking.until("it is seen that the upstream is gone", () -> status("/hello") == 502);
        assertAll(UNAVAILABLE, asking.getAtOnce("/hello", 12));
        upstream.up();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[]", "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n[1,2,"})
    void what_is_no_whole_answer_is_unavailable(String bytes) throws Exception {
        upstream.behave((path, out) -> {
            out.write(bytes.getBytes(StandardCharsets.US_ASCII));
            return false;
        });
        assertEquals(UNAVAILABLE, asking.get("/hello").toString());
    }

    @Test
    void another_status_is_a_bad_answer_whatever_comes_with_it() throws Exception {
        for (int status : new int[] {201, 204, 301, 404, 500, 503}) {
            upstream.behave((path, out) -> {
                UpstreamStub.send(out, status, status == 204 ? "" : UpstreamStub.phones(1));
                return true;
            });
            assertEquals(BAD_ANSWER, asking.get("/hello").toString(), "status " + status);
        }
    }

    @Test
    void phones_of_another_shape_are_a_bad_answer() throws Exception {
        List<String> wrong = new ArrayList<>(List.of("", " ", "{", "[", "garbage", "{}", "null", "1", "\"\"", "[null]",
                "[1]", "[\"\"]", "[[]]", "[{}]", "[{\"ddd\":1}]", "[{\"number\":1}]", "[{\"DDD\":1,\"number\":1}]",
                "[{\"ddd\":1,\"number\":1}] x", "[{\"ddd\":1,\"number\":1}][]", "[{\"ddd\":1,\"number\":1},]"));
        for (String ddd : List.of("null", "\"1\"", "\"\"", "1.0", "1e0", "true", "2147483648", "-2147483649",
                "12345678901234567890", "{}", "[1]")) {
            wrong.add("[{\"ddd\":" + ddd + ",\"number\":1}]");
        }
        for (String body : wrong) {
            upstream.behave(UpstreamStub.with("phones", body));
            assertEquals(BAD_ANSWER, asking.get("/hello").toString(), body);
        }
    }

    @Test
    void an_address_of_another_shape_is_a_bad_answer() throws Exception {
        List<String> wrong = new ArrayList<>(List.of("", "[]", "{}", "null", "\"\"",
                "{\"street\":\"s\",\"number\":42,\"state\":\"CA\"}",
                "{\"street\":\"s\",\"number\":\"42\",\"state\":\"CA\",\"country\":\"USA\"}",
                "{\"street\":\"s\",\"number\":42.0,\"state\":\"CA\",\"country\":\"USA\"}",
                "{\"street\":\"s\",\"number\":42,\"state\":\"CA\",\"country\":\"USA\"}}"));
        for (String street : List.of("null", "1", "1.5", "true", "{}", "[]", "[\"s\"]")) {
            wrong.add("{\"street\":" + street + ",\"number\":42,\"state\":\"CA\",\"country\":\"USA\"}");
        }
        for (String body : wrong) {
            upstream.behave(UpstreamStub.with("address", body));
            assertEquals(BAD_ANSWER, asking.get("/hello").toString(), body);
        }
    }

    @Test
    void an_answer_of_more_than_65536_bytes_is_a_bad_answer_and_one_byte_less_is_not() throws Exception {
        upstream.behave(UpstreamStub.with("phones", "[]" + " ".repeat(65_535)));
        assertEquals(BAD_ANSWER, asking.get("/hello").toString());
        upstream.behave(UpstreamStub.with("phones", "[]" + " ".repeat(65_534)));
        assertEquals(200, asking.get("/hello").status());
    }

    @Test
    void an_answer_of_a_megabyte_or_without_an_end_is_a_bad_answer_and_its_connection_is_closed() throws Exception {
        upstream.behave(UpstreamStub.with("phones", "[]" + " ".repeat(1_000_000)));
        assertAll(BAD_ANSWER, asking.getAtOnce("/hello", 12));
        byte[] chunk = ("10000\r\n" + " ".repeat(65_536) + "\r\n").getBytes(StandardCharsets.US_ASCII);
        upstream.behave((path, out) -> {
            out.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            while (true) {
                out.write(chunk);
            }
        });
        assertEquals(BAD_ANSWER, asking.get("/hello").toString());
        Asking.until("nobody is talked to any more", () -> upstream.busy() == 0);
    }

    @Test
    void a_body_of_a_megabyte_is_refused_whether_its_length_is_known_or_not() throws Exception {
        BodyPublisher body = BodyPublishers.ofString("x".repeat(1_000_000));
        for (String path : List.of("/hello", "/db")) {
            assertEquals(TOO_LARGE, asking.send("GET", path, body, Map.of()).toString());
            // fromPublisher hides the length
            assertEquals(TOO_LARGE, asking.send("GET", path, BodyPublishers.fromPublisher(body), Map.of()).toString());
        }
    }

    @Test
    void other_keys_are_ignored_and_any_number_of_phones_is_sent_whole_with_its_length() throws Exception {
        String phone = "{\"ddd\":-1,\"more\":[{}],\"number\":2147483647}";
        upstream.behave(UpstreamStub.with("phones", "[" + (phone + ",").repeat(1_200) + phone + "]"));
        Asking.Said said = asking.get("/hello?client=1");
        assertEquals(200, said.status());
        assertTrue(said.body().contains("[" + "{\"ddd\":-1,\"number\":2147483647},".repeat(1_200)), said.body());
        assertEquals(said.body().length(), said.whole().headers().firstValueAsLong("Content-Length").orElse(-1));
    }

    @Test
    void texts_are_sent_as_they_came_with_the_escapes_that_json_demands() throws Exception {
        upstream.behave(UpstreamStub.with("address", "{\"country\":\"\\u00e9\\\"<&>\\u2028\\n\",\"state\":\"\","
                + "\"more\":null,\"street\":\"\\/\\\\\",\"number\":-2147483648}"));
        String body = asking.get("/hello?client=1").body();
        assertTrue(body.contains("\"address\":{\"street\":\"/\\\\\",\"number\":-2147483648,\"state\":\"\","
                + "\"country\":\"\u00e9\\\"<&>\u2028\\n\"},"), body);
    }

    @Test
    void a_database_that_is_killed_under_load_costs_answers_only_while_it_is_gone() throws Exception {
        try (Crowd crowd = new Crowd("/db")) {
            Asking.until("requests are answered", () -> crowd.right() > 50);
            postgres.kill();
            try {
                long failed = crowd.said(NO_DATABASE);
                Asking.until("requests fail", () -> crowd.said(NO_DATABASE) > failed + 20);
            } finally {
                postgres.up();
            }
            long before = crowd.right();
            Asking.until("requests are answered again", () -> crowd.right() > before + 50);
            crowd.assertSaidOnly(NO_DATABASE);
        }
    }

    @Test
    void an_upstream_that_is_killed_under_load_costs_answers_only_while_it_is_gone() throws Exception {
        try (Crowd crowd = new Crowd("/hello")) {
            Asking.until("requests are answered", () -> crowd.right() > 50);
            upstream.down();
            try {
                long failed = crowd.said(UNAVAILABLE);
                Asking.until("requests fail", () -> crowd.said(UNAVAILABLE) > failed + 20);
            } finally {
                upstream.up();
            }
            long before = crowd.right();
            Asking.until("requests are answered again", () -> crowd.right() > before + 50);
            crowd.assertSaidOnly(UNAVAILABLE);
        }
    }

    /** Who goes on asking while something fails, and notes what was said. */
    private final class Crowd implements AutoCloseable {

        private static final int USERS = 8;

        private final Map<String, LongAdder> counts = new ConcurrentHashMap<>();
        private final AtomicBoolean enough = new AtomicBoolean();
        private final ExecutorService users = Executors.newFixedThreadPool(USERS);

        Crowd(String path) {
            for (int user = 0; user < USERS; user++) {
                users.execute(() -> {
                    while (!enough.get()) {
                        note(path);
                    }
                });
            }
        }

        private void note(String path) {
            String said;
            try {
                Asking.Said answer = asking.get(path);
                said = answer.status() == 200 ? "200" : answer.toString();
            } catch (IOException unanswered) {
                said = unanswered.toString();
            } catch (InterruptedException hurried) {
                return;
            }
            counts.computeIfAbsent(said, kind -> new LongAdder()).increment();
        }

        long right() {
            return said("200");
        }

        long said(String what) {
            LongAdder count = counts.get(what);
            return count == null ? 0 : count.sum();
        }

        void assertSaidOnly(String fault) {
            assertEquals(Set.of("200", fault), counts.keySet());
        }

        @Override
        public void close() {
            enough.set(true);
            users.close();
        }
    }

    @Test
    void a_database_that_is_killed_and_back_costs_answers_only_while_it_is_gone() throws Exception {
        postgres.kill();
        try {
            assertAll(NO_DATABASE, asking.getAtOnce("/db", 12));
        } finally {
            postgres.up();
        }
    }

    @Test
    void a_database_out_of_connections_is_told_and_those_that_there_are_go_on() throws Exception {
        postgres.kill();
        postgres.up(8);
        List<Process> others = new ArrayList<>();
        try {
            for (int other = 0; other < 12; other++) {
                others.add(postgres.idle());
            }
            Asking.until("somebody is refused", () -> others.stream().anyMatch(other -> !other.isAlive()));
            for (Asking.Said said : asking.getAtOnce("/db", 12)) {
                assertTrue(said.status() == 200 || said.toString().equals(NO_DATABASE), said.toString());
            }
        } finally {
            for (Process other : others) {
                other.destroyForcibly().waitFor();
            }
        }
        Asking.until("there is room again", () -> status("/db") == 200);
        postgres.kill();
        postgres.up();
    }

    @Test
    void a_database_that_hangs_is_waited_for_no_longer_than_allowed() throws Exception {
        postgres.freeze();
        try {
            assertAll(NO_DATABASE, asking.getAtOnce("/db", 8));
        } finally {
            postgres.thaw();
        }
    }

    @Test
    void a_statement_that_fails_is_told_and_loses_no_connection() throws Exception {
        postgres.ask("clients", "alter table movie rename to film");
        try {
            assertAll(NO_DATABASE, asking.getAtOnce("/db", 12));
        } finally {
            postgres.ask("clients", "alter table film rename to movie");
        }
    }

    @Test
    void a_locked_table_exhausts_the_pool_and_no_more_than_it() throws Exception {
        Process locker = postgres.hold("begin; lock table movie; select pg_sleep(60)");
        try {
            Asking.until("the table is locked", () -> locked());
            assertAll(NO_DATABASE, asking.getAtOnce("/db", 12));
            assertTrue(connections() <= POOL_SIZE + 1, "open: " + connections());
        } finally {
            locker.destroyForcibly();
            postgres.ask("template1", "select pg_terminate_backend(pid) from pg_stat_activity "
                    + "where query like 'begin; lock%'");
        }
    }

    @Test
    void slow_clients_keep_nobody_from_being_served_and_leave_no_connection_behind() throws Exception {
        List<Socket> slow = new ArrayList<>();
        try {
            for (int client = 0; client < 100; client++) {
                slow.add(new Socket("127.0.0.1", port));
                String begun = client % 2 == 0 ? "GET /hel" : "GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{";
                slow.getLast().getOutputStream().write(begun.getBytes(StandardCharsets.US_ASCII));
            }
            assertTrue(asking.getAtOnce("/hello", 12).stream().allMatch(said -> said.status() == 200));
            assertTrue(asking.getAtOnce("/db", 12).stream().allMatch(said -> said.status() == 200));
        } finally {
            for (Socket one : slow) {
                one.close();
            }
        }
        Asking.until("connections that their clients closed are closed here, too", () -> closedByClients() == 0);
    }

    /** Connections to the service whose other end was closed and which it still holds, as the kernel lists them. */
    private long closedByClients() {
        String address = ":%04X".formatted(port);
        return Stream.of("/proc/net/tcp", "/proc/net/tcp6").map(Path::of).filter(Files::exists).flatMap(file -> {
            try {
                return Files.readAllLines(file).stream();
            } catch (IOException gone) {
                throw new AssertionError(gone);
            }
        }).map(line -> line.strip().split(" +")).filter(words -> words[1].endsWith(address) && words[3].equals(CLOSE_WAIT))
                .count();
    }

    private boolean locked() {
        try {
            return !postgres.ask("clients", "select 1 from pg_locks where mode = 'AccessExclusiveLock' and granted "
                    + "and relation = 'movie'::regclass").isEmpty();
        } catch (Exception failed) {
            throw new AssertionError(failed);
        }
    }

    private int status(String path) {
        try {
            return asking.get(path).status();
        } catch (Exception failed) {
            throw new AssertionError(failed);
        }
    }

    private double metric(String nameAndLabels) {
        try {
            return asking.metric(nameAndLabels);
        } catch (Exception failed) {
            throw new AssertionError(failed);
        }
    }

    private int connections() {
        try {
            return postgres.connections();
        } catch (Exception failed) {
            throw new AssertionError(failed);
        }
    }

    private static void assertAll(String expected, List<Asking.Said> said) {
        assertEquals(Set.of(expected), said.stream().map(Asking.Said::toString).collect(Collectors.toSet()));
    }
}
