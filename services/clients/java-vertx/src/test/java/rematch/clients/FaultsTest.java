// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of requests while upstream or database fail, and afterwards. */
final class FaultsTest {

    private static Postgres postgres;

    private UpstreamStub upstream;
    private Main.Running running;
    private Asking asking;

    @BeforeAll
    static void database() throws Exception {
        postgres = Postgres.start();
    }

    @AfterAll
    static void noDatabase() throws Exception {
        postgres.close();
    }

    @BeforeEach
    void upstream() throws Exception {
        upstream = UpstreamStub.start();
    }

    @AfterEach
    void stop() throws Exception {
        asking.close();
        running.close();
        upstream.close();
        Asking.until("no connection to the database is left", () -> connections() == 0);
    }

    @Test
    void a_slow_upstream_is_a_timeout_and_its_connections_are_not_used_again() throws Exception {
        serve("--upstream-timeout-ms=1000");
        upstream.behave((path, out) -> {
            Thread.sleep(60_000);
            return false;
        });
        assertAll("504 {\"error\":\"upstream_timeout\"}", asking.getAtOnce("/hello", 20));
        Asking.until("late connections are closed", () -> upstream.connections() == 0);
        assertRecovers();
    }

    @Test
    void an_upstream_that_never_stops_talking_is_a_timeout() throws Exception {
        serve("--upstream-timeout-ms=1000");
        upstream.behave((path, out) -> {
            out.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n[".getBytes(StandardCharsets.US_ASCII));
            while (true) {
                out.write(' ');
                out.flush();
                Thread.sleep(50);
            }
        });
        assertEquals("504 {\"error\":\"upstream_timeout\"}", asking.get("/hello").toString());
        Asking.until("the connection is closed", () -> upstream.connections() == 0);
        assertRecovers();
    }

    @Test
    void waiting_for_a_connection_to_the_upstream_is_part_of_the_time_allowed() throws Exception {
        serve("--upstream-timeout-ms=1000", "--upstream-connections=1");
        upstream.behave((path, out) -> {
            Thread.sleep(400);
            return UpstreamStub.right(path, out);
        });
        Set<String> said = asking.getAtOnce("/hello?client=1", 8).stream()
                .map(answer -> answer.status() == 200 ? "200" : answer.toString()).collect(Collectors.toSet());
        assertTrue(said.contains("504 {\"error\":\"upstream_timeout\"}"), said.toString());
        assertTrue(Set.of("200", "504 {\"error\":\"upstream_timeout\"}").containsAll(said), said.toString());
        assertRecovers();
    }

    @Test
    void no_more_connections_to_the_upstream_are_opened_than_allowed() throws Exception {
        serve("--upstream-connections=3", "--verticles=2");
        upstream.behave((path, out) -> {
            Thread.sleep(5);
            return UpstreamStub.right(path, out);
        });
        assertTrue(asking.getAtOnce("/hello", 60).stream().allMatch(said -> said.status() == 200));
        assertTrue(upstream.connections() <= 3, "open: " + upstream.connections());
        assertTrue(upstream.busiest() <= 3, "busy: " + upstream.busiest());
        assertEquals(upstream.connections(), asking.metric("upstream_connections{state=\"idle\"}"));
    }

    @Test
    void an_upstream_that_is_down_is_unavailable_until_it_is_back() throws Exception {
        upstream.down();
        serve();
        assertEquals("{\"status\":\"up\"}", asking.get("/health").body());
        assertEquals("502 {\"error\":\"upstream_unavailable\"}", asking.get("/hello").toString());
        upstream.up();
        assertRecovers();
        upstream.down();
        Asking.until("it is seen that the upstream is gone", () -> status("/hello") == 502);
        upstream.up();
        assertRecovers();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[]", "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n[1,2,"})
    void what_is_no_whole_answer_is_unavailable(String bytes) throws Exception {
        serve();
        upstream.behave((path, out) -> {
            out.write(bytes.getBytes(StandardCharsets.US_ASCII));
            return false;
        });
        assertEquals("502 {\"error\":\"upstream_unavailable\"}", asking.get("/hello").toString());
        assertRecovers();
    }

    @ParameterizedTest
    @ValueSource(ints = {201, 204, 301, 404, 500, 503})
    void another_status_is_a_bad_answer_whatever_comes_with_it(int status) throws Exception {
        serve();
        upstream.behave((path, out) -> {
            UpstreamStub.send(out, status, status == 204 ? "" : UpstreamStub.phones(1));
            return true;
        });
        assertEquals("502 {\"error\":\"upstream_bad_answer\"}", asking.get("/hello").toString());
        assertRecovers();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "{", "[", "garbage", "{}", "null", "1", "\"\"", "[null]", "[1]", "[[]]", "[{}]",
        "[{\"ddd\":1}]", "[{\"number\":1}]", "[{\"ddd\":null,\"number\":1}]", "[{\"ddd\":\"1\",\"number\":1}]",
        "[{\"ddd\":1.0,\"number\":1}]", "[{\"ddd\":1e0,\"number\":1}]", "[{\"ddd\":true,\"number\":1}]",
        "[{\"ddd\":2147483648,\"number\":1}]", "[{\"ddd\":1,\"number\":12345678901234567890}]",
        "[{\"ddd\":1,\"number\":1}] x", "[{\"ddd\":1,\"number\":1}][]", "[{\"ddd\":1,\"number\":1},]",
        "[{\"ddd\":\"\",\"number\":1}]", "[{\"DDD\":1,\"number\":1}]"})
    void phones_of_another_shape_are_a_bad_answer(String body) throws Exception {
        serve();
        upstream.behave(UpstreamStub.with("phones", body));
        assertEquals("502 {\"error\":\"upstream_bad_answer\"}", asking.get("/hello").toString());
        assertRecovers();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "[]", "{}", "null", "\"\"",
        "{\"street\":null,\"number\":42,\"state\":\"CA\",\"country\":\"USA\"}",
        "{\"street\":1,\"number\":42,\"state\":\"CA\",\"country\":\"USA\"}",
        "{\"street\":\"s\",\"number\":\"42\",\"state\":\"CA\",\"country\":\"USA\"}",
        "{\"street\":\"s\",\"number\":42.0,\"state\":\"CA\",\"country\":\"USA\"}",
        "{\"street\":\"s\",\"number\":42,\"state\":true,\"country\":\"USA\"}",
        "{\"street\":\"s\",\"number\":42,\"state\":\"CA\",\"country\":1.5}",
        "{\"street\":\"s\",\"number\":42,\"state\":\"CA\",\"country\":{}}",
        "{\"street\":\"s\",\"number\":42,\"state\":\"CA\"}",
        "{\"street\":\"s\",\"number\":42,\"state\":\"CA\",\"country\":\"USA\"}}"})
    void an_address_of_another_shape_is_a_bad_answer(String body) throws Exception {
        serve();
        upstream.behave(UpstreamStub.with("address", body));
        assertEquals("502 {\"error\":\"upstream_bad_answer\"}", asking.get("/hello").toString());
        assertRecovers();
    }

    @Test
    void an_answer_of_more_than_65536_bytes_is_a_bad_answer_and_one_byte_less_is_not() throws Exception {
        serve();
        upstream.behave(UpstreamStub.with("phones", "[]" + " ".repeat(65_535)));
        assertEquals("502 {\"error\":\"upstream_bad_answer\"}", asking.get("/hello").toString());
        upstream.behave(UpstreamStub.with("phones", "[]" + " ".repeat(65_534)));
        assertEquals(200, asking.get("/hello").status());
        assertRecovers();
    }

    @Test
    void other_keys_are_ignored_and_any_number_of_phones_is_sent_whole_with_its_length() throws Exception {
        serve();
        String phone = "{\"ddd\":-1,\"more\":[{}],\"number\":2147483647}";
        upstream.behave(UpstreamStub.with("phones", "[" + (phone + ",").repeat(1_200) + phone + "]"));
        Asking.Said said = asking.get("/hello?client=1");
        assertEquals(200, said.status());
        assertTrue(said.body().contains("[" + "{\"ddd\":-1,\"number\":2147483647},".repeat(1_200)), said.body());
        assertEquals(said.body().length(), said.whole().headers().firstValueAsLong("Content-Length").orElse(-1));
    }

    @ParameterizedTest
    @ValueSource(strings = {"pipelined", "pool"})
    void a_database_that_is_down_at_the_start_is_used_when_it_is_up(String database) throws Exception {
        postgres.kill();
        try {
            serve("--database=" + database);
            assertEquals("{\"status\":\"up\"}", asking.get("/health").body());
            assertEquals("503 {\"error\":\"database_unavailable\"}", asking.get("/db").toString());
            assertEquals(200, asking.get("/hello").status());
        } finally {
            postgres.up();
        }
        Asking.until("the database is used", () -> status("/db") == 200);
    }

    @ParameterizedTest
    @ValueSource(strings = {"pipelined", "pool"})
    void a_database_that_is_killed_and_back_costs_answers_only_while_it_is_gone(String database) throws Exception {
        serve("--database=" + database, "--pool-size=8");
        assertTrue(asking.getAtOnce("/db", 40).stream().allMatch(said -> said.status() == 200));
        postgres.kill();
        try {
            assertAll("503 {\"error\":\"database_unavailable\"}", asking.getAtOnce("/db", 20));
        } finally {
            postgres.up();
        }
        Asking.until("the database is used again", () -> status("/db") == 200);
        assertTrue(asking.getAtOnce("/db", 40).stream().allMatch(said -> said.status() == 200));
        assertTrue(connections() <= (database.equals("pool") ? 8 : 1), "open: " + connections());
        assertEquals(0, asking.metric("db_connections{state=\"in_use\"}"));
        assertEquals(connections(), asking.metric("db_connections{state=\"idle\"}"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"pipelined", "pool"})
    void a_database_that_hangs_is_waited_for_no_longer_than_allowed(String database) throws Exception {
        serve("--database=" + database, "--pool-size=4", "--pool-wait-ms=500");
        assertEquals(200, asking.get("/db").status());
        postgres.freeze();
        try {
            assertAll("503 {\"error\":\"database_unavailable\"}", asking.getAtOnce("/db", 10));
        } finally {
            postgres.thaw();
        }
        Asking.until("the database is used again", () -> status("/db") == 200);
        assertTrue(asking.getAtOnce("/db", 20).stream().allMatch(said -> said.status() == 200));
    }

    @ParameterizedTest
    @ValueSource(strings = {"pipelined", "pool"})
    void a_statement_that_fails_is_told_and_loses_no_connection(String database) throws Exception {
        serve("--database=" + database, "--pool-size=2");
        postgres.ask("clients", "alter table movie rename to film");
        try {
            assertAll("503 {\"error\":\"database_unavailable\"}", asking.getAtOnce("/db", 20));
        } finally {
            postgres.ask("clients", "alter table film rename to movie");
        }
        assertTrue(asking.getAtOnce("/db", 20).stream().allMatch(said -> said.status() == 200));
        assertTrue(connections() <= 2, "open: " + connections());
    }

    private void serve(String... flags) throws Exception {
        String[] args = Stream.concat(Stream.of("--port=0"), Stream.of(flags)).toArray(String[]::new);
        Settings settings = Settings.parse(postgres.environment(upstream.url()), args);
        running = Main.serve(settings, AccessLog.open(settings));
        asking = new Asking(running.port());
    }

    private void assertRecovers() throws Exception {
        upstream.recover();
        Asking.until("the upstream is used again", () -> status("/hello") == 200);
        assertTrue(asking.getAtOnce("/hello", 10).stream().allMatch(said -> said.status() == 200));
        assertEquals(0, asking.metric("upstream_connections{state=\"in_use\"}"));
        assertTrue(upstream.connections() <= 30, "open: " + upstream.connections());
    }

    private int status(String path) {
        try {
            return asking.get(path).status();
        } catch (Exception failed) {
            throw new AssertionError(failed);
        }
    }

    private static int connections() {
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
