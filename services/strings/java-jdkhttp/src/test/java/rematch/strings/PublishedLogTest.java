// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileDescriptor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class PublishedLogTest {

    private static final String BEGIN =
            "\\d{4}\\.\\d\\d\\.\\d\\d \\d\\d:\\d\\d:\\d\\d INFO rematch\\.strings\\.PublishedLogTest ";

    @ParameterizedTest
    @EnumSource(Settings.LogLock.class)
    void a_record_is_one_line_which_is_there_when_the_call_returns(Settings.LogLock lock, @TempDir Path folder)
            throws Exception {
        Path file = folder.resolve("log");
        Logger logger = open(file, lock, true);
        for (int n = 1; n < 4; n++) {
            logger.info("Uppercase request: $1 \\ !");
            List<String> lines = Files.readAllLines(file);
            assertEquals(n, lines.size());
            String line = lines.getLast();
            assertTrue(line.matches(BEGIN + "Thread\\[.*main.*\\]: Uppercase request: \\$1 \\\\ !"), line);
        }
    }

    @Test
    void without_the_formatter_of_threads_the_place_of_the_thread_stays_literal(@TempDir Path folder)
            throws Exception {
        Path file = folder.resolve("log");
        open(file, Settings.LogLock.PUBLISHED, false).info("uppercase request: a");
        String line = Files.readString(file);
        assertTrue(line.matches(BEGIN + "!thread!: uppercase request: a\n"), line);
    }

    @ParameterizedTest
    @EnumSource(Settings.LogLock.class)
    void lines_of_many_threads_stay_whole(Settings.LogLock lock, @TempDir Path folder) throws Exception {
        Path file = folder.resolve("log");
        Logger logger = open(file, lock, true);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 1_000; i++) {
                threads.execute(() -> logger.info("Count request: hello"));
            }
        }
        List<String> lines = Files.readAllLines(file);
        assertEquals(1_000, lines.size());
        assertTrue(lines.stream().allMatch(line -> line.matches(BEGIN + "VirtualThread\\[.*: Count request: hello")));
    }

    @Test
    void logging_off_is_a_level() throws Exception {
        Logger logger = PublishedLog.open(PublishedLogTest.class, Settings.parse("--port=1"), FileDescriptor.out,
                Level.WARNING, true);
        assertFalse(logger.isLoggable(Level.INFO));
        assertTrue(logger.isLoggable(Level.WARNING));
        assertEquals(1, logger.getHandlers().length);
    }

    @Test
    void a_logger_that_is_opened_again_writes_to_its_new_sink_only(@TempDir Path folder) throws Exception {
        open(folder.resolve("before"), Settings.LogLock.PUBLISHED, true);
        open(folder.resolve("log"), Settings.LogLock.PUBLISHED, true).info("once");
        assertEquals(1, Files.readAllLines(folder.resolve("log")).size());
        assertEquals("", Files.readString(folder.resolve("before")));
    }

    private static Logger open(Path file, Settings.LogLock lock, boolean namesThread)
            throws IOException, Settings.BadFlag {
        Settings settings = Settings.parse("--port=1", "--face=published", "--logging=on", "--log-sink=file",
                "--log-file=" + file, "--log-lock=" + lock.name().toLowerCase());
        return PublishedLog.open(PublishedLogTest.class, settings, FileDescriptor.out, Level.WARNING, namesThread);
    }
}
