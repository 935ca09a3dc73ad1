// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** The service as a process: what it says, and how it ends. */
final class ProcessTest {

    private static final Map<String, String> NOBODY = Map.of("UPSTREAM_URL", "http://127.0.0.1:1", "PGHOST",
            "127.0.0.1", "PGPORT", "1", "PGUSER", "u", "PGPASSWORD", "p", "PGDATABASE", "d");

    @Test
    void a_bad_flag_is_one_line_and_status_2() throws Exception {
        Service service = Service.start(NOBODY, "--port=0", "--nope");
        List<String> said = service.rest();
        assertEquals(1, said.size(), said.toString());
        assertTrue(said.getFirst().startsWith("unknown flag --nope"), said.toString());
        assertEquals(2, service.status());
    }

    @Test
    void missing_variables_are_one_line_and_status_2() throws Exception {
        Service service = Service.start(Map.of(), "--port=0");
        List<String> said = service.rest();
        assertEquals(1, said.size(), said.toString());
        assertTrue(said.getFirst().startsWith("UPSTREAM_URL, PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE missing"), said.toString());
        assertEquals(2, service.status());
    }

    @Test
    void a_taken_port_is_one_line_and_status_1() throws Exception {
        try (ServerSocket taken = new ServerSocket(0)) {
            Service service = Service.start(NOBODY, "--port=" + taken.getLocalPort(), "--host=0.0.0.0",
                    "--mode=reactive");
            List<String> said = service.rest();
            assertEquals(1, said.size(), said.toString());
            assertTrue(said.getFirst().contains("port=" + taken.getLocalPort()), said.toString());
            assertEquals(1, service.status());
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
            // until a busy machine has shown that nothing new is accepted, the request is to be waited for
            environment.put("QUARKUS_SHUTDOWN_TIMEOUT", "2M");
            Service service = Service.start(environment, "--port=0", "--upstream-timeout-ms=120000");
            int port = service.port();
            try (Asking asking = new Asking(port)) {
                CompletableFuture<List<Asking.Said>> inFlight =
                        CompletableFuture.supplyAsync(() -> asking.getAtOnce("/hello?client=1", 1));
                asked.await();
                service.terminate();
                Asking.until("nothing new is accepted", () -> refused(port));
                stopping.countDown();
                assertEquals(200, inFlight.join().getFirst().status());
            }
            assertTrue(List.of(0, 143).contains(service.status()));
        }
    }

    private static boolean refused(int port) {
        try (Asking another = new Asking(port)) {
            return another.get("/health").status() == 503; // Quarkus' way of saying it
        } catch (IOException refused) {
            return true;
        } catch (InterruptedException hurried) {
            throw new AssertionError(hurried);
        }
    }
}
