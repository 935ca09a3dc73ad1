// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Many transfers at once, on every kind of thread and connection. */
final class MoneyTest {

    private static final int USERS = 16;
    private static final int TRANSFERS_EACH = 10;
    private static final int POOL_SIZE = 5;

    @ParameterizedTest
    @CsvSource({
        "idiomatic,platform,pool", "idiomatic,virtual,pool", "idiomatic,platform,per-statement", "idiomatic,virtual,per-statement",
        "tuned,platform,pool", "tuned,virtual,pool", "tuned,platform,per-statement", "tuned,virtual,per-statement"})
    void transfers_at_once_keep_the_sum_and_leave_no_connection(String craft, String threads, String connections)
            throws Exception {
        DatabaseAddress database = Postgres.shared().database();
        Settings settings = Settings.parse("--port=0", "--craft=" + craft, "--threads=" + threads, "--connections=" + connections,
                "--pool-size=" + POOL_SIZE, "--pool-wait-ms=20000");
        try (Main.Running running = Main.serve(settings, database, AccessLog.off());
                Asker asker = new Asker(running.port());
                ExecutorService users = Executors.newFixedThreadPool(USERS)) {
            int a = asker.open(1_000);
            int b = asker.open(1_000);
            List<Future<?>> flows = new ArrayList<>();
            for (int user = 0; user < USERS; user++) {
                boolean forth = user % 2 == 0;
                flows.add(users.submit(() -> {
                    for (int i = 0; i < TRANSFERS_EACH; i++) {
                        assertEquals(200, forth ? asker.transfer(a, b, 2) : asker.transfer(b, a, 1));
                    }
                    return null;
                }));
            }
            for (Future<?> flow : flows) {
                flow.get();
            }
            int moved = USERS / 2 * TRANSFERS_EACH;
            assertEquals("{\"balance\":" + (1_000 - moved) + "}", asker.get("/client/" + a + "/balance").body());
            assertEquals("{\"balance\":" + (1_000 + moved) + "}", asker.get("/client/" + b + "/balance").body());
            Invariants.hold(database);
            assertTrue(Postgres.backends(database) <= POOL_SIZE);
        }
        for (int attempt = 0; Postgres.backends(database) > 0; attempt++) {
            assertTrue(attempt < 500, "a connection outlives the service");
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }
}
