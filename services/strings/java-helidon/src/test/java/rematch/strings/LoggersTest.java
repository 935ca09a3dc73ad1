// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class LoggersTest {

    private static final Pattern LINE = Pattern.compile("time=(\\S+) level=INFO msg=request method=POST path=/uppercase "
            + "status=200 bytes_in=13 bytes_out=13 took_us=42");
    private static final DateTimeFormatter WITH_OFFSET =
            DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss[.SSSSSSSSS][.SSS][XXX][xx]");

    @ParameterizedTest
    @ValueSource(strings = {"jul", "logback", "logback-async"})
    void every_logger_writes_the_same_fields(String name, @TempDir Path folder) throws Exception {
        Path file = folder.resolve("100% requests.log");
        RequestLogger logger = open(name, file);
        logger.request("POST", "/uppercase", 200, 13, 13, 42_999);
        logger.close();
        String line = Files.readAllLines(file).getFirst();
        Matcher found = LINE.matcher(line);
        assertTrue(found.matches(), line);
        OffsetDateTime.parse(found.group(1), WITH_OFFSET);
    }

    @ParameterizedTest
    @ValueSource(strings = {"jul", "logback", "logback-async"})
    void a_hostile_method_cannot_forge_a_line(String name, @TempDir Path folder) throws Exception {
        Path file = folder.resolve("log");
        RequestLogger logger = open(name, file);
        logger.request("A\nlevel=INFO", "/uppercase", 405, 0, 30, 1);
        logger.close();
        assertTrue(Files.readAllLines(file).size() == 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"jul", "logback"})
    void a_synchronous_logger_loses_no_line_of_many_threads(String name, @TempDir Path folder) throws Exception {
        Path file = folder.resolve("log");
        RequestLogger logger = open(name, file);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 2_000; i++) {
                threads.execute(() -> logger.request("POST", "/uppercase", 200, 13, 13, 42_000));
            }
        }
        logger.close();
        List<String> lines = Files.readAllLines(file);
        assertEquals(2_000, lines.size());
        assertTrue(lines.stream().allMatch(line -> LINE.matcher(line).matches()));
    }

    @Test
    void the_flag_is_taken_in_both_forms_and_the_others_are_left() throws Exception {
        Loggers spaced = Loggers.of("--port", "1", "--logger", "jul", "--lean");
        Loggers equal = Loggers.of("--port", "1", "--logger=jul", "--lean");
        assertEquals("jul", spaced.name());
        assertEquals("jul", equal.name());
        assertArrayEquals(new String[] {"--port", "1", "--lean"}, spaced.others());
        assertArrayEquals(spaced.others(), equal.others());
        assertEquals(Loggers.BY_HAND, Loggers.of("--port=1").name());
    }

    @ParameterizedTest
    @ValueSource(strings = {"--logger", "--logger=", "--logger=log4j", "--logger slog\ntext"})
    void another_logger_is_refused_in_one_line(String line) {
        String message = assertThrows(Settings.BadFlag.class, () -> Loggers.of(line.split(" "))).getMessage();
        assertTrue(message.contains("by-hand, jul, logback, logback-async"), message);
        assertFalse(message.contains("\n"));
    }

    @Test
    void a_library_writes_where_the_matched_face_logs_and_nowhere_else() throws Exception {
        Loggers jul = Loggers.of("--logger=jul");
        assertTrue(jul.isLibrary(Settings.parse("--port=1", "--logging=on")));
        assertFalse(jul.isLibrary(Settings.parse("--port=1", "--logging=off")));
        assertFalse(jul.isLibrary(Settings.parse("--port=1", "--logging=on", "--face=published")));
        assertFalse(jul.isLibrary(Settings.parse("--port=1", "--logging=on", "--lean")));
        assertFalse(Loggers.of().isLibrary(Settings.parse("--port=1", "--logging=on")));
    }

    private static RequestLogger open(String name, Path file) throws Exception {
        Settings settings = Settings.parse("--port=1", "--logging=on", "--log-sink=file", "--log-file=" + file);
        return Loggers.of("--logger=" + name).open(settings);
    }
}
