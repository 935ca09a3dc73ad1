// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class SettingsTest {

    @Test
    void the_defaults_are_the_loopback_and_no_line() throws Exception {
        Settings settings = Settings.parse("--port", "8080", "--face", "published");
        assertEquals("127.0.0.1", settings.host());
        assertEquals(8080, settings.port());
        assertFalse(settings.logging());
        assertEquals(Settings.Sink.NULL, settings.logSink());
        assertNull(settings.logFile());
    }

    @Test
    void a_flag_takes_its_value_with_and_without_an_equals_sign() throws Exception {
        for (Settings settings : List.of(
                Settings.parse("--port", "1", "--face", "published", "--logging", "on", "--log-sink", "file",
                        "--log-file", "a=b", "--host", "::1"),
                Settings.parse("--port=1", "--face=published", "--logging=on", "--log-sink=file", "--log-file=a=b",
                        "--host=::1"))) {
            assertEquals(1, settings.port());
            assertTrue(settings.logging());
            assertEquals(Settings.Sink.FILE, settings.logSink());
            assertEquals("a=b", settings.logFile());
            assertEquals("::1", settings.host());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "--face=published --port=x", "--face=published --port=65536", "--face=published --port=-1",
        "--face=published --port", "--face=published", "--port=1", "--port=1 --face=matched",
        "--face=published --port=1 --nope=1", "--face=published --port=1 --lean", "--face=published port=1",
        "--face=published --port=1 --logging=yes", "--face=published --port=1 --log-sink=stdout",
        "--face=published --port=1 --logging=on --log-sink=file"})
    void what_cannot_be_read_is_refused_in_one_line(String line) {
        String message =
                assertThrows(Settings.BadFlag.class, () -> Settings.parse(line.split(" "))).getMessage();
        assertFalse(message.isBlank());
        assertFalse(message.contains("\n"));
    }
}
