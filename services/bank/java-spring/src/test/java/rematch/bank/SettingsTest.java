// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class SettingsTest {

    private static final Map<String, String> ENVIRONMENT = Map.of(
            "PGHOST", "db", "PGPORT", "5433", "PGUSER", "u", "PGPASSWORD", "", "PGDATABASE", "a b");

    @Test
    void the_defaults_are_those_of_the_contract() throws Exception {
        Settings settings = Settings.parse("--port", "8080");
        assertEquals(
                new Settings("127.0.0.1", 8080, Settings.Face.MATCHED, Settings.Craft.IDIOMATIC, false, Settings.Sink.NULL, null, false,
                        Settings.Connections.POOL, 20, 10_000, Settings.Threads.PLATFORM, 200),
                settings);
    }

    @Test
    void the_published_face_opens_a_connection_per_statement_unless_told_otherwise() throws Exception {
        assertEquals(Settings.Connections.PER_STATEMENT,
                Settings.parse("--port=1", "--face=published").connections());
        assertEquals(Settings.Connections.POOL,
                Settings.parse("--port=1", "--connections=pool", "--face=published").connections());
    }

    @Test
    void the_repaired_face_has_the_pool_of_the_rematch() throws Exception {
        Settings usual = Settings.parse("--port=1", "--face=repaired");
        assertEquals(Settings.Connections.POOL, usual.connections());
        assertEquals(95, usual.poolSize());
        assertEquals(7, Settings.parse("--port=1", "--face=repaired", "--pool-size=7").poolSize());
    }

    @Test
    void a_flag_takes_its_value_with_and_without_an_equals_sign() throws Exception {
        Settings spaced = Settings.parse("--port", "1", "--face", "published", "--craft", "tuned", "--logging", "on",
                "--log-sink", "file", "--log-file", "a=b", "--host", "::1", "--connections", "pool",
                "--pool-size", "7", "--pool-wait-ms", "1", "--max-threads", "9", "--threads", "platform");
        Settings equal = Settings.parse("--port=1", "--face=published", "--craft=tuned", "--logging=on",
                "--log-sink=file", "--log-file=a=b", "--host=::1", "--connections=pool",
                "--pool-size=7", "--pool-wait-ms=1", "--max-threads=9", "--threads=platform");
        assertEquals(spaced, equal);
        assertEquals("a=b", spaced.logFile());
        assertEquals(9, spaced.maxThreads());
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "--port=x", "--port=65536", "--port=-1", "--port=", "--port", "--nope=1", "port=1", "--face=Matched --port=1",
        "--craft=best --port=1", "--logging=yes --port=1", "--log-sink=stdout --port=1", "--port=1 --logging=on --log-sink=file", "--face",
        "--port=1 --connections=per_statement", "--port=1 --pool-size=0", "--port=1 --pool-size=10001",
        "--port=1 --pool-wait-ms=0", "--port=1 --pool-wait-ms=600001", "--port=1 --threads=green",
        "--port=1 --max-threads=0", "--port=1 --face=repaired --connections=per-statement",
        "--port=1 --max-threads=10 --threads=virtual", "--port=99999999999999999999"})
    void what_cannot_be_read_is_refused_in_one_line(String line) {
        String message =
                assertThrows(Settings.BadFlag.class, () -> Settings.parse(line.split(" "))).getMessage();
        assertFalse(message.isBlank());
        assertFalse(message.contains("\n"));
    }

    @Test
    void a_missing_port_is_refused_and_named() {
        assertTrue(assertThrows(Settings.BadFlag.class, Settings::parse).getMessage().contains("--port"));
    }

    @Test
    void the_database_is_where_the_environment_says() throws Exception {
        DatabaseAddress database = DatabaseAddress.of(ENVIRONMENT);
        assertEquals(new DatabaseAddress("db", 5433, "u", "", "a b"), database);
        assertTrue(database.jdbcUrl().startsWith("jdbc:postgresql://db:5433/a"), database.jdbcUrl());
    }

    @ParameterizedTest
    @ValueSource(strings = {"PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"})
    void a_missing_variable_is_refused_and_named(String name) {
        Map<String, String> environment = new HashMap<>(ENVIRONMENT);
        environment.remove(name);
        assertTrue(assertThrows(Settings.BadFlag.class, () -> DatabaseAddress.of(environment))
                .getMessage().contains(name));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "65536", "x", "1\n2"})
    void a_port_of_the_database_that_is_none_is_refused_in_one_line(String port) {
        Map<String, String> environment = new HashMap<>(ENVIRONMENT);
        environment.put("PGPORT", port);
        String message =
                assertThrows(Settings.BadFlag.class, () -> DatabaseAddress.of(environment)).getMessage();
        assertTrue(message.contains("PGPORT"));
        assertFalse(message.contains("\n"));
    }
}
