// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** The database is gone, full, or slow, or a client is: the service says so, leaks nothing, and serves on when it is back. */
final class FaultsTest {

    private static final int POOL_SIZE = 4;
    private static final String UNAVAILABLE = "{\"error\":\"database_unavailable\"}";

    private Postgres postgres;
    private DatabaseAddress database;
    private Main.Running running;
    private Asker asker;

    @BeforeEach
    void prepare() throws Exception {
        postgres = Postgres.shared();
        database = postgres.database();
    }

    @AfterEach
    void stop() {
        if (running != null) {
            asker.close();
            running.close();
        }
    }

    @ParameterizedTest
    @CsvSource({"idiomatic,per-statement", "idiomatic,pool", "tuned,per-statement", "tuned,pool"})
    void a_database_that_is_down_at_the_start_keeps_no_service_from_starting(String craft, String connections) throws Exception {
        postgres.kill();
        serve("--craft=" + craft, "--connections=" + connections, "--pool-wait-ms=200");
        assertEquals(200, asker.get("/health").statusCode());
        assertUnavailable(asker.get("/client/1/balance"));
        assertUnavailable(asker.post("/client/new/1", ""));
        postgres.start();
        awaitService();
        asker.open(1);
    }

    @ParameterizedTest
    @CsvSource({"idiomatic,per-statement", "idiomatic,pool", "tuned,per-statement", "tuned,pool"})
    void a_database_that_is_killed_under_load_loses_no_money(String craft, String connections) throws Exception {
        serve("--craft=" + craft, "--connections=" + connections, "--pool-wait-ms=300");
        int a = asker.open(1_000);
        int b = asker.open(1_000);
        Set<Integer> statuses = new ConcurrentSkipListSet<>();
        AtomicBoolean enough = new AtomicBoolean();
        try (ExecutorService users = Executors.newFixedThreadPool(POOL_SIZE)) {
            List<Future<?>> flows = new ArrayList<>();
            for (int user = 0; user < POOL_SIZE; user++) {
                flows.add(users.submit(() -> {
                    while (!enough.get()) {
                        statuses.add(asker.post("/client/new/5", "").statusCode());
                        statuses.add(asker.transfer(a, b, 1));
                    }
                    return null;
                }));
            }
            await(() -> statuses.contains(200));
            postgres.kill();
            await(() -> statuses.contains(503));
            postgres.start();
            awaitService();
            enough.set(true);
            for (Future<?> flow : flows) {
                flow.get();
            }
        }
        assertEquals(Set.of(200, 503), statuses);
        Invariants.hold(database);
        await(() -> Postgres.backends(database) <= (connections.equals("pool") ? POOL_SIZE : 0));
    }

    @ParameterizedTest
    @CsvSource({"idiomatic,per-statement", "idiomatic,pool", "tuned,per-statement", "tuned,pool"})
    void a_database_without_free_connections_is_unavailable_until_there_is_one(String craft, String connections) throws Exception {
        serve("--craft=" + craft, "--connections=" + connections, "--pool-wait-ms=300");
        List<Connection> taken = new ArrayList<>();
        try {
            takeAll(taken);
            assertUnavailable(asker.get("/client/1/balance"));
            assertUnavailable(asker.post("/client/new/1", ""));
        } finally {
            for (Connection one : taken) {
                one.close();
            }
        }
        awaitService();
        Invariants.hold(database);
    }

    @ParameterizedTest
    @CsvSource({"idiomatic,per-statement", "idiomatic,pool", "tuned,per-statement", "tuned,pool"})
    void a_full_disk_is_unavailable_until_there_is_room_and_costs_no_money(String craft, String connections) throws Exception {
        serve("--craft=" + craft, "--connections=" + connections);
        int a = asker.open(1_000);
        int b = asker.open(1_000);
        postgres.full(database, a, b);
        try {
            int refused = 0;
            for (int attempt = 0; attempt < 1_000 && refused < 5; attempt++) { // the last page still has some room
                int status = asker.transfer(a, b, 1);
                assertTrue(Set.of(200, 503).contains(status), "status " + status);
                refused += status == 503 ? 1 : 0;
            }
            assertEquals(5, refused);
            assertUnavailable(asker.post("/client/new/7", ""));
            assertEquals(200, asker.get("/client/" + b + "/balance").statusCode(), "reading needs no room");
        } finally {
            postgres.largestFile("unlimited");
        }
        asker.open(1);
        Invariants.hold(database); // the refused client would be one without an opening transaction
        await(() -> Postgres.backends(database) <= (connections.equals("pool") ? POOL_SIZE : 0));
    }

    @Test
    void a_slow_client_is_cut_off_and_keeps_nobody_from_being_served() throws Exception {
        String patience = "server.tomcat.connection-timeout";
        try (InputStream shipped = Main.class.getResourceAsStream("/application.properties")) {
            Properties properties = new Properties();
            properties.load(shipped);
            assertEquals("10s", properties.getProperty(patience)); // the contract's; a test waits for less
        }
        System.setProperty(patience, "300ms");
        try {
            serve("--max-threads=2");
        } finally {
            System.clearProperty(patience);
        }
        List<Socket> slow = new ArrayList<>();
        try {
            for (int user = 0; user < 20; user++) {
                slow.add(begun("POST /transaction HTTP/1.1\r\nHo"));
            }
            slow.add(begun("POST /transaction HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"));
            asker.open(1);
            for (Socket one : slow) {
                one.getInputStream().readAllBytes(); // returns only when the service closed the connection
            }
        } finally {
            for (Socket one : slow) {
                one.close();
            }
        }
        asker.open(1);
        Invariants.hold(database);
    }

    @Test
    void a_head_that_drips_in_is_cut_off_although_it_is_never_silent() throws Exception {
        String patience = "server.tomcat.connection-timeout";
        System.setProperty(patience, "500ms");
        try {
            serve();
        } finally {
            System.clearProperty(patience);
        }
        try (Socket dripping = begun("GET /client/1/balance HTTP/1.1\r\nX: ")) {
            Thread closed = Thread.ofVirtual().start(() -> awaitEnd(dripping));
            await(() -> {
                try {
                    dripping.getOutputStream().write('a'); // every 20 ms
                } catch (IOException gone) {
                    // as it should be
                }
                return !closed.isAlive();
            });
        }
        try (Socket two = begun("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")) { // a kept connection may be idle for longer
            readAnswer(two);
            TimeUnit.MILLISECONDS.sleep(800);
            two.getOutputStream().write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            readAnswer(two);
        }
    }

    private static void awaitEnd(Socket socket) {
        try {
            socket.getInputStream().readAllBytes();
        } catch (IOException reset) {
            // closed as well
        }
    }

    private static void readAnswer(Socket socket) throws IOException {
        StringBuilder answer = new StringBuilder();
        while (answer.indexOf("{\"status\":\"up\"}") < 0) {
            int next = socket.getInputStream().read();
            assertTrue(next >= 0, "closed after " + answer);
            answer.append((char) next);
        }
    }

    private Socket begun(String part) throws IOException {
        Socket socket = new Socket("127.0.0.1", running.port());
        socket.setSoTimeout(30_000);
        socket.getOutputStream().write(part.getBytes(StandardCharsets.US_ASCII));
        return socket;
    }

    @ParameterizedTest
    @ValueSource(strings = {"idiomatic", "tuned"})
    void who_waits_too_long_for_a_statement_or_for_the_pool_is_told_so(String craft) throws Exception {
        serve("--craft=" + craft, "--connections=pool", "--pool-size=1", "--pool-wait-ms=300");
        awaitService(); // the first connection may take longer than the pool lets a request wait
        int a = asker.open(10);
        try (Connection locking = Postgres.connect(database); Statement lock = locking.createStatement();
                ExecutorService users = Executors.newFixedThreadPool(3)) {
            locking.setAutoCommit(false);
            lock.execute("LOCK TABLE transaction IN ACCESS EXCLUSIVE MODE");
            List<Future<HttpResponse<String>>> answers = new ArrayList<>();
            for (int user = 0; user < 3; user++) {
                answers.add(users.submit(() -> asker.get("/client/" + a + "/balance")));
            }
            for (Future<HttpResponse<String>> answer : answers) {
                assertUnavailable(answer.get());
            }
        }
        awaitService();
        assertEquals("{\"balance\":10}", asker.get("/client/" + a + "/balance").body());
        assertTrue(Postgres.backends(database) <= 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"idiomatic", "tuned"})
    void a_create_whose_second_statement_fails_leaves_nothing(String craft) throws Exception {
        serve("--craft=" + craft, "--connections=pool");
        Postgres.execute(database, "ALTER TABLE transaction ADD CONSTRAINT small CHECK (amount < 10)");
        assertUnavailable(asker.post("/client/new/10", ""));
        assertEquals(0, Postgres.number(database, "SELECT count(*) FROM client"));
        asker.open(9);
        Invariants.hold(database);
    }

    @Test
    void the_published_face_swallows_a_failed_statement_and_answers_what_it_has() throws Exception {
        serve("--face=published");
        Postgres.execute(database, "DROP TABLE transaction");
        assertEquals("{\"balance\":null}", asker.get("/client/1/balance").body());
        HttpResponse<String> half = asker.post("/client/new/1", "");
        assertEquals(200, half.statusCode(), half.body());
        assertEquals(1, Postgres.number(database, "SELECT count(*) FROM client"));
        await(() -> Postgres.backends(database) == 0);
    }

    @Test
    void the_published_face_answers_500_without_a_connection_and_leaks_none() throws Exception {
        serve("--face=published", "--pool-wait-ms=300");
        List<Connection> taken = new ArrayList<>();
        try {
            takeAll(taken);
            HttpResponse<String> answer = asker.get("/client/1/balance");
            assertEquals(500, answer.statusCode());
            assertEquals("{\"error\":\"internal\"}", answer.body());
        } finally {
            for (Connection one : taken) {
                one.close();
            }
        }
        await(() -> Postgres.backends(database) == 0);
        await(() -> asker.get("/client/1/balance").statusCode() == 200);
    }

    @Test
    void the_old_faces_wait_for_a_statement_as_long_as_it_takes() throws Exception {
        for (String face : List.of("published", "repaired")) {
            serve("--face=" + face, "--pool-wait-ms=100");
            int a = asker.open(5);
            try (Connection other = Postgres.connect(database); Statement statement = other.createStatement();
                    ExecutorService user = Executors.newSingleThreadExecutor()) {
                other.setAutoCommit(false);
                statement.execute("LOCK TABLE transaction");
                Future<HttpResponse<String>> answer = user.submit(() -> asker.get("/client/" + a + "/balance"));
                // longer than the shortest limits there are: of the wait, and of a second on the socket
                TimeUnit.MILLISECONDS.sleep(2_500);
                other.rollback();
                assertEquals("{\"balance\":5}", answer.get().body(), face);
            }
            stop();
            running = null;
        }
    }

    @Test
    void the_repaired_face_keeps_a_full_pool_and_swallows_a_failed_statement() throws Exception {
        serve("--face=repaired");
        await(() -> Postgres.backends(database) == POOL_SIZE);
        assertTrue(asker.get("/metrics").body().contains("db_connections{state=\"idle\"} " + POOL_SIZE + ".0"));
        Postgres.execute(database, "DROP TABLE transaction");
        assertEquals("{\"balance\":null}", asker.get("/client/1/balance").body());
        assertEquals("{\"id\":null,\"amount\":1,\"from_client_id\":1,\"to_client_id\":2}",
                asker.post("/transaction", "{\"amount\":1,\"from_client_id\":1,\"to_client_id\":2}").body());
        assertEquals(POOL_SIZE, Postgres.backends(database));
    }

    @Test
    void without_a_connection_the_published_ledger_ends_and_the_repaired_one_goes_on_with_nothing() throws Exception {
        var nowhere = new DriverManagerDataSource("jdbc:postgresql://127.0.0.1:1/bank?sslmode=disable", "bank", "x");
        PublishedBank published = new PublishedBank(nowhere, AccessLog.off(), Settings.parse("--port=0", "--face=published"));
        assertThrows(IllegalStateException.class, published::insertClient);
        PublishedBank repaired = new PublishedBank(nowhere, AccessLog.off(), Settings.parse("--port=0", "--face=repaired"));
        assertEquals(0, repaired.insertClient());
        assertNull(repaired.balance(1));
    }

    private void takeAll(List<Connection> taken) {
        while (taken.size() < Postgres.MAX_CONNECTIONS) {
            try {
                taken.add(Postgres.connect(database));
            } catch (SQLException full) {
                return;
            }
        }
    }

    private void serve(String... flags) throws Exception {
        List<String> all = new ArrayList<>(List.of("--port=0", "--pool-size=" + POOL_SIZE));
        all.addAll(List.of(flags));
        running = Main.serve(Settings.parse(all.toArray(String[]::new)), database, AccessLog.off());
        asker = new Asker(running.port());
    }

    private static void assertUnavailable(HttpResponse<String> answer) {
        assertEquals(503, answer.statusCode(), answer.body());
        assertEquals(UNAVAILABLE, answer.body());
    }

    private void awaitService() throws Exception {
        await(() -> asker.get("/client/2147483647/balance").statusCode() == 404);
    }

    private interface Condition {
        boolean holds() throws IOException, InterruptedException, SQLException;
    }

    private static void await(Condition condition) throws Exception {
        for (int attempt = 0; attempt < 500; attempt++) {
            if (condition.holds()) {
                return;
            }
            TimeUnit.MILLISECONDS.sleep(20);
        }
        throw new AssertionError("it never came to be");
    }
}
