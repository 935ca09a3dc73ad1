// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The service as a process: what it says, and how it ends. */
final class ProcessTest {

    private static final Map<String, String> NOBODY = Map.of("UPSTREAM_URL", "http://127.0.0.1:1", "PGHOST",
            "127.0.0.1", "PGPORT", "1", "PGUSER", "u", "PGPASSWORD", "p", "PGDATABASE", "d");

    @Test
    void a_bad_flag_is_one_line_and_status_2() throws Exception {
        Process process = start(NOBODY, "--port=0", "--nope");
        assertTrue(rest(process).getFirst().startsWith("unknown flag --nope"));
        assertEquals(2, process.waitFor());
    }

    @Test
    void missing_variables_are_one_line_and_status_2() throws Exception {
        Process process = start(Map.of(), "--port=0");
        List<String> said = rest(process);
        assertEquals(1, said.size(), said.toString());
        assertTrue(said.getFirst().startsWith("UPSTREAM_URL, PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE missing"), said.toString());
        assertEquals(2, process.waitFor());
    }

    @Test
    void a_taken_port_is_one_line_and_status_1() throws Exception {
        try (ServerSocket taken = new ServerSocket(0)) {
            Process process = start(NOBODY, "--port=" + taken.getLocalPort(), "--host=0.0.0.0");
            List<String> said = rest(process);
            assertEquals(1, said.size(), said.toString());
            assertTrue(said.getFirst().contains("port=" + taken.getLocalPort()), said.toString());
            assertEquals(1, process.waitFor());
        }
    }

    @Test
    void sigterm_finishes_what_is_in_flight_and_accepts_nothing_new() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch stopping = new CountDownLatch(1);
        try (UpstreamStub upstream = UpstreamStub.start()) {
            upstream.behave((path, out) -> {
                asked.countDown();
                stopping.await();
                return UpstreamStub.right(path, out);
            });
            Map<String, String> environment = new HashMap<>(NOBODY);
            environment.put("UPSTREAM_URL", upstream.url());
            // until a busy machine has shown that nothing new is accepted, the upstream may be silent
            Process process = start(environment, "--port=0", "--upstream-timeout-ms=120000");
            int port = port(process.errorReader());
            try (Asking asking = new Asking(port)) {
                CompletableFuture<List<Asking.Said>> inFlight =
                        CompletableFuture.supplyAsync(() -> asking.getAtOnce("/hello?client=1", 1));
                asked.await();
                process.destroy(); // SIGTERM
                Asking.until("nothing new is accepted", () -> refused(port));
                stopping.countDown();
                assertEquals(200, inFlight.join().getFirst().status());
            }
            assertTrue(List.of(0, 143).contains(process.waitFor()));
        }
    }

    private static boolean refused(int port) {
        try (Asking another = new Asking(port)) {
            another.get("/health");
            return false;
        } catch (IOException refused) {
            return true;
        } catch (InterruptedException hurried) {
            throw new AssertionError(hurried);
        }
    }

    private static Process start(Map<String, String> environment, String... flags) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), "rematch.clients.Main"));
        command.addAll(List.of(flags));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().keySet().removeIf(name -> name.startsWith("PG") || name.equals("UPSTREAM_URL"));
        builder.environment().putAll(environment);
        Process process = builder.start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly)); // if the tests are stopped
        return process;
    }

    private static int port(BufferedReader err) throws IOException {
        String line = err.readLine();
        while (line != null && !line.startsWith("listening ")) {
            line = err.readLine();
        }
        assertTrue(line != null && line.matches("listening host=127\\.0\\.0\\.1 port=[0-9]+"), line);
        return Integer.parseInt(line.substring(line.lastIndexOf('=') + 1));
    }

    /** What is said until the end, without the JVM's own warnings. */
    private static List<String> rest(Process process) throws IOException {
        try (Stream<String> lines = process.errorReader().lines()) {
            return lines.filter(line -> !line.startsWith("WARNING: ") && !line.startsWith("OpenJDK ")).toList();
        }
    }
}
