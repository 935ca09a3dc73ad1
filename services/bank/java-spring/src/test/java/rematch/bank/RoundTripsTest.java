// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each request of the matched face is one round trip to the database, in both crafts, as in the Go services. */
final class RoundTripsTest {

    private static final int REQUESTS = 7;

    /** Stands between the service and its database; a round trip is an answer that begins after something was sent. */
    private static final class Relay implements AutoCloseable {

        private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final AtomicBoolean waiting = new AtomicBoolean();
        private final AtomicInteger trips = new AtomicInteger();

        Relay(int database) throws IOException {
            Thread.ofVirtual().start(() -> {
                try {
                    while (true) {
                        Socket client = server.accept();
                        Socket behind = new Socket(InetAddress.getLoopbackAddress(), database);
                        Thread.ofVirtual().start(() -> pass(client, behind, () -> waiting.set(true)));
                        Thread.ofVirtual().start(() -> pass(behind, client, this::answered));
                    }
                } catch (IOException closed) {
                    // The test is over.
                }
            });
        }

        private void answered() {
            if (waiting.getAndSet(false)) {
                trips.incrementAndGet();
            }
        }

        /** Copies what comes until the end, and says so before it hands anything on. */
        private static void pass(Socket from, Socket to, Runnable seen) {
            byte[] part = new byte[16 << 10];
            try (from; to) {
                for (int size = from.getInputStream().read(part); size > 0; size = from.getInputStream().read(part)) {
                    seen.run();
                    to.getOutputStream().write(part, 0, size);
                }
            } catch (IOException gone) {
                // One side closed, which closes the other.
            }
        }

        @Override
        public void close() {
            try {
                server.close();
            } catch (IOException unlikely) {
                throw new UncheckedIOException(unlikely);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"idiomatic", "tuned"})
    void each_request_is_one_round_trip(String craft) throws Exception {
        DatabaseAddress database = Postgres.shared().database();
        Settings settings = Settings.parse("--port=0", "--craft=" + craft, "--pool-size=1");
        try (Relay relay = new Relay(database.port());
                Main.Running running = Main.serve(settings, new DatabaseAddress("127.0.0.1", relay.server.getLocalPort(),
                        database.user(), database.password(), database.database()), AccessLog.off());
                Asker asker = new Asker(running.port())) {
            int a = asker.open(100);
            int b = asker.open(100);
            for (String route : new String[] {"create", "transfer", "balance"}) {
                ask(asker, route, a, b); // prepares the statement
                int before = relay.trips.get();
                for (int request = 0; request < REQUESTS; request++) {
                    assertEquals(200, ask(asker, route, a, b));
                }
                assertEquals(REQUESTS, relay.trips.get() - before, route);
            }
        }
    }

    private static int ask(Asker asker, String route, int a, int b) throws IOException, InterruptedException {
        return switch (route) {
            case "create" -> asker.post("/client/new/5", "").statusCode();
            case "transfer" -> asker.transfer(a, b, 1);
            default -> asker.get("/client/" + a + "/balance").statusCode();
        };
    }
}
