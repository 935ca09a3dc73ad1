// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import rematch.clients.Settings.BadSetting;

final class SettingsTest {

    private static final Map<String, String> ENVIRONMENT = Map.of("UPSTREAM_URL", "http://127.0.0.1:9000/",
            "PGHOST", "::1", "PGPORT", "5432", "PGUSER", "u", "PGPASSWORD", "", "PGDATABASE", "d");

    @Test
    void the_defaults_are_those_of_the_contract() throws Exception {
        assertEquals(
                new Settings("127.0.0.1", 8080, Settings.Face.MATCHED, Settings.Craft.IDIOMATIC,
                        Runtime.getRuntime().availableProcessors(), Settings.DatabaseUse.POOL, false, Settings.Sink.NULL, null, false, 30, 5_000, 30, 5, 10_000, 0,
                        Settings.Calls.SEQUENTIAL, new Settings.Surroundings("http://127.0.0.1:9000", "::1", 5432, "u", "", "d")),
                Settings.parse(ENVIRONMENT, "--port", "8080"));
    }

    @Test
    void the_published_face_has_one_event_loop_one_connection_and_both_calls_at_once_over_five() throws Exception {
        Settings published = Settings.parse(ENVIRONMENT, "--port=1", "--face=published");
        assertEquals(1, published.verticles());
        assertEquals(Settings.DatabaseUse.PIPELINED, published.database());
        assertEquals(5, published.upstreamConnections());
        assertEquals(Settings.Calls.PARALLEL, published.calls());
    }

    @Test
    void a_flag_takes_its_value_with_and_without_an_equals_sign() throws Exception {
        Settings spaced = Settings.parse(ENVIRONMENT, "--port", "1", "--face", "published", "--craft", "tuned", "--logging", "on",
                "--log-sink", "file", "--log-file", "a=b", "--host", "::1", "--verticles", "4", "--database", "pool",
                "--upstream-connections", "2", "--upstream-timeout-ms", "600000", "--pool-size", "1000", "--pool-min",
                "1000", "--pool-wait-ms", "1", "--minor-percent", "100", "--calls", "sequential");
        Settings equal = Settings.parse(ENVIRONMENT, "--port=1", "--face=published", "--craft=tuned", "--logging=on",
                "--log-sink=file", "--log-file=a=b", "--host=::1", "--verticles=4", "--database=pool",
                "--upstream-connections=2", "--upstream-timeout-ms=600000", "--pool-size=1000", "--pool-min=1000",
                "--pool-wait-ms=1", "--minor-percent=100", "--calls=sequential");
        assertEquals(spaced, equal);
        assertEquals("a=b", spaced.logFile());
        assertEquals(Settings.Calls.SEQUENTIAL, spaced.calls());
        assertEquals(1_000, spaced.poolMin());
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "--port=x", "--port=65536", "--port=-1", "--port=", "--port", "--nope=1", "port=1", "--face=Matched --port=1", "--craft=best --port=1",
        "--logging=yes --port=1", "--log-sink=stdout --port=1", "--port=1 --logging=on --log-sink=file", "--face",
        "--port=1 --verticles=0", "--port=1 --verticles=257", "--port=1 --database=jdbc", "--port=1 --calls=both",
        "--port=1 --upstream-connections=0", "--port=1 --upstream-connections=1001",
        "--port=1 --upstream-timeout-ms=0", "--port=1 --upstream-timeout-ms=600001", "--port=1 --pool-size=0",
        "--port=1 --pool-size=4 --pool-min=5", "--port=1 --pool-min=31", "--port=1 --pool-min=-1", "--port=1 --pool-wait-ms=1s",
        "--port=1 --minor-percent=101", "--port=1 --minor-percent=0.5"})
    void what_cannot_be_read_is_refused_in_one_line(String line) {
        String message = assertThrows(BadSetting.class, () -> Settings.parse(ENVIRONMENT, line.split(" "))).getMessage();
        assertFalse(message.isBlank());
        assertFalse(message.contains("\n"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"UPSTREAM_URL", "PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"})
    void what_is_missing_in_the_environment_is_named(String name) {
        Map<String, String> environment = new HashMap<>(ENVIRONMENT);
        environment.remove(name);
        assertTrue(assertThrows(BadSetting.class, () -> Settings.parse(environment, "--port=1")).getMessage()
                .startsWith(name + " missing"));
    }

    @ParameterizedTest
    @CsvSource({"PGPORT, 0", "PGPORT, 65536", "PGPORT, x", "UPSTREAM_URL, https://h:1", "UPSTREAM_URL, http://h",
        "UPSTREAM_URL, http://h:1/path", "UPSTREAM_URL, h:1", "UPSTREAM_URL, http://h:1?q", "UPSTREAM_URL, http://h:99999"})
    void a_bad_value_in_the_environment_is_named(String name, String value) {
        Map<String, String> environment = new HashMap<>(ENVIRONMENT);
        environment.put(name, value);
        assertTrue(assertThrows(BadSetting.class, () -> Settings.parse(environment, "--port=1")).getMessage()
                .startsWith(name + "=" + value));
    }

    @Test
    void a_small_pool_keeps_no_more_connections_than_it_has() throws Exception {
        assertEquals(2, Settings.parse(ENVIRONMENT, "--port=1", "--pool-size=2").poolMin());
    }

    @Test
    void the_lean_service_looks_at_no_environment() throws Exception {
        assertNull(Settings.parse(Map.of(), "--port=1", "--lean").surroundings());
    }

    @Test
    void a_missing_port_is_refused_and_named() {
        assertTrue(assertThrows(BadSetting.class, () -> Settings.parse(ENVIRONMENT)).getMessage().contains("--port"));
    }
}
