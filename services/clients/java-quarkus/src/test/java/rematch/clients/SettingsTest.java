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
                        Settings.Mode.BLOCKING, false, Settings.Sink.NULL, null, false, 30, 5_000, 30, 5, 10_000, 0,
                        Settings.Calls.SEQUENTIAL, new Settings.Surroundings("http://127.0.0.1:9000", "::1", 5432, "u", "", "d")),
                Settings.parse(ENVIRONMENT, "--port", "8080"));
    }

    @Test
    void a_flag_takes_its_value_with_and_without_an_equals_sign() throws Exception {
        Settings spaced = Settings.parse(ENVIRONMENT, "--port", "1", "--face", "published", "--craft", "tuned", "--logging", "on",
                "--log-sink", "file", "--log-file", "a=b", "--host", "::1", "--mode", "reactive",
                "--upstream-connections", "2", "--upstream-timeout-ms", "600000", "--pool-size", "1000", "--pool-min",
                "1000", "--pool-wait-ms", "1", "--minor-percent", "100", "--calls", "sequential");
        Settings equal = Settings.parse(ENVIRONMENT, "--port=1", "--face=published", "--craft=tuned", "--logging=on",
                "--log-sink=file", "--log-file=a=b", "--host=::1", "--mode=reactive",
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
        "--port=1 --mode=fast", "--port=1 --calls=both",
        "--port=1 --upstream-connections=0", "--port=1 --upstream-connections=1001",
        "--port=1 --upstream-timeout-ms=0", "--port=1 --upstream-timeout-ms=600001", "--port=1 --pool-size=0",
        "--port=1 --pool-size=4 --pool-min=5", "--port=1 --pool-min=31", "--port=1 --pool-min=-1", "--port=1 --pool-wait-ms=1s",
        "--port=1 --minor-percent=101", "--port=1 --minor-percent=0.5"})
    void what_cannot_be_read_is_refused_in_one_line(String line) {
        String message = assertThrows(BadSetting.class, () -> Settings.parse(ENVIRONMENT, line.split(" "))).getMessage();
        assertFalse(message.isBlank());
        assertFalse(message.contains("\n"));
    }

    @Test
    void calls_are_at_once_where_the_published_program_made_them_so() throws Exception {
        assertEquals(Settings.Calls.PARALLEL,
                Settings.parse(ENVIRONMENT, "--port=1", "--face=published", "--mode=reactive").calls());
        assertEquals(Settings.Calls.SEQUENTIAL,
                Settings.parse(ENVIRONMENT, "--port=1", "--face=published", "--mode=blocking").calls());
        assertEquals(Settings.Calls.SEQUENTIAL, Settings.parse(ENVIRONMENT, "--port=1", "--mode=reactive").calls());
        assertEquals(Settings.Calls.PARALLEL, Settings.parse(ENVIRONMENT, "--port=1", "--calls=parallel").calls());
    }

    @Test
    void a_native_image_is_reactive_or_says_that_it_is() throws Exception {
        Settings.parse(ENVIRONMENT, "--port=1", "--mode=reactive").refuseUnlessReactive();
        for (String flag : new String[] {"--mode=blocking", "--lean", "--face=published", "--craft=tuned"}) {
            Settings other = Settings.parse(ENVIRONMENT, "--port=1", "--mode=reactive", flag);
            String message = assertThrows(BadSetting.class, other::refuseUnlessReactive).getMessage();
            assertTrue(message.startsWith(flag + " is not allowed"), message);
        }
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
