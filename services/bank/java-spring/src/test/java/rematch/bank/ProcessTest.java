// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What only the process shows: exit statuses, what it writes where, and how it stops. */
final class ProcessTest {

    @Test
    void an_unknown_flag_is_one_line_and_status_2() throws Exception {
        assertRefused(2, "--nope", service(null, "--port=0", "--nope=1"));
    }

    @Test
    void a_database_that_is_not_named_is_one_line_and_status_2() throws Exception {
        assertRefused(2, "PGHOST", service(null, "--port=0"));
    }

    @Test
    void a_port_that_is_taken_is_one_line_and_status_1() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertRefused(1, "port=" + taken.getLocalPort(),
                    service(new DatabaseAddress("127.0.0.1", 1, "u", "", "d"), "--port=" + taken.getLocalPort()));
        }
    }

    @Test
    void a_host_that_is_none_is_one_line_and_status_1() throws Exception {
        assertRefused(1, "host=256.0.0.1", service(new DatabaseAddress("127.0.0.1", 1, "u", "", "d"),
                "--host=256.0.0.1", "--port=0"));
    }

    @Test
    void sigterm_finishes_what_is_in_flight() throws Exception {
        DatabaseAddress database = Postgres.shared().database();
        Process process = service(database, "--port=0");
        try (BufferedReader stderr = process.errorReader(); Connection locking = Postgres.connect(database);
                Statement lock = locking.createStatement()) {
            String listening = stderr.readLine();
            assertTrue(listening.matches("listening host=127\\.0\\.0\\.1 port=[0-9]+"), listening);
            int port = Integer.parseInt(listening.replaceAll(".*=", ""));
            try (Asker asker = new Asker(port)) {
                locking.setAutoCommit(false);
                lock.execute("LOCK TABLE transaction IN ACCESS EXCLUSIVE MODE");
                CompletableFuture<HttpResponse<String>> inFlight = CompletableFuture.supplyAsync(() -> {
                    try {
                        return asker.post("/client/new/3", "");
                    } catch (Exception failed) {
                        throw new IllegalStateException(failed);
                    }
                });
                while (Postgres.number(database, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0) {
                    TimeUnit.MILLISECONDS.sleep(10);
                }
                process.toHandle().destroy(); // Process.destroy would close stderr
                while (accepts(port)) { // so that it stops while the request waits
                    TimeUnit.MILLISECONDS.sleep(10);
                }
                locking.commit();
                assertEquals(200, inFlight.get().statusCode());
            }
            assertEquals(143, process.waitFor());
            assertEquals(List.of(), stderr.lines().toList());
        } finally {
            process.destroyForcibly();
        }
        Invariants.hold(database);
        assertEquals(1, Postgres.number(database, "SELECT count(*) FROM client"));
    }

    @Test
    void sigterm_waits_for_no_request_that_the_database_keeps() throws Exception {
        DatabaseAddress database = Postgres.shared().database();
        Process process = service(database, "--port=0", "--pool-size=1", "--pool-wait-ms=600000");
        try (BufferedReader stderr = process.errorReader(); Connection locking = Postgres.connect(database);
                Statement lock = locking.createStatement()) {
            int port = Integer.parseInt(stderr.readLine().replaceAll(".*=", ""));
            locking.setAutoCommit(false);
            lock.execute("LOCK TABLE transaction IN ACCESS EXCLUSIVE MODE");
            try (Socket working = post(port, "/client/new/3"); Socket waiting = post(port, "/client/new/4")) {
                while (Postgres.number(database, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0) {
                    TimeUnit.MILLISECONDS.sleep(10);
                }
                process.toHandle().destroy();
                assertTrue(process.waitFor(100, TimeUnit.SECONDS), "it waits as long as the lock is held");
                assertEquals(List.of(-1, -1), List.of(working.getInputStream().read(), waiting.getInputStream().read()));
            }
        } finally {
            process.destroyForcibly();
        }
        Invariants.hold(database);
    }

    private static boolean accepts(int port) throws IOException {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            return socket.isConnected();
        } catch (ConnectException refused) {
            return false;
        }
    }

    /** Asks and does not wait for an answer. */
    private static Socket post(int port, String path) throws IOException {
        Socket socket = new Socket("127.0.0.1", port);
        socket.getOutputStream().write(("POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII));
        return socket;
    }

    private static void assertRefused(int status, String named, Process process) throws Exception {
        try (BufferedReader stderr = process.errorReader()) {
            List<String> lines = stderr.lines().toList();
            assertEquals(1, lines.size(), lines.toString());
            assertTrue(lines.getFirst().contains(named), lines.getFirst());
        }
        assertEquals(status, process.waitFor());
    }

    private static Process service(DatabaseAddress database, String... flags) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), Main.class.getName()));
        command.addAll(List.of(flags));
        ProcessBuilder builder = new ProcessBuilder(command).redirectOutput(ProcessBuilder.Redirect.DISCARD);
        builder.environment().keySet().removeIf(name -> name.startsWith("PG") || name.startsWith("J"));
        if (database != null) {
            builder.environment().put("PGHOST", database.host());
            builder.environment().put("PGPORT", Integer.toString(database.port()));
            builder.environment().put("PGUSER", database.user());
            builder.environment().put("PGPASSWORD", database.password());
            builder.environment().put("PGDATABASE", database.database());
        }
        return builder.start();
    }
}
