// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class SettingsTest {

    @Test
    void the_defaults_are_those_of_the_contract() throws Exception {
        Settings settings = Settings.parse("--port", "8080");
        assertEquals(
                new Settings("127.0.0.1", 8080, Settings.Face.MATCHED, Settings.Craft.TUNED, false,
                        Settings.Sink.NULL, null, Settings.LogLock.PUBLISHED, false),
                settings);
    }

    @Test
    void a_flag_takes_its_value_with_and_without_an_equals_sign() throws Exception {
        Settings spaced = Settings.parse("--port", "1", "--face", "published", "--craft", "idiomatic", "--logging", "on",
                "--log-sink", "file", "--log-file", "a=b", "--log-lock", "none", "--host", "::1");
        Settings equal = Settings.parse("--port=1", "--face=published", "--craft=idiomatic", "--logging=on",
                "--log-sink=file", "--log-file=a=b", "--log-lock=none", "--host=::1");
        assertEquals(spaced, equal);
        assertEquals("a=b", spaced.logFile());
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "--port=x", "--port=65536", "--port=-1", "--port=", "--port", "--nope=1", "port=1", "--face=Matched --port=1", "--craft=best --port=1",
        "--logging=yes --port=1", "--log-sink=stdout --port=1", "--port=1 --logging=on --log-sink=file",
        "--log-lock=all --port=1", "--face"})
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
}
