// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class AccessLogTest {

    private static final String LINE = "ts=\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z "
            + "method=POST path=/uppercase status=200 bytes_in=13 bytes_out=13 took_us=42";

    @Test
    void a_line_says_what_the_contract_asks(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("log");
        open(file).request("POST", "/uppercase", 200, 13, 13, 42_999);
        String line = Files.readString(file);
        assertTrue(line.matches(LINE + "\n"), line);
    }

    @Test
    void lines_are_appended_to_an_existing_file(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("log"), "before\n");
        open(file).request("POST", "/uppercase", 200, 13, 13, 42_000);
        assertEquals("before", Files.readAllLines(file).getFirst());
        assertEquals(2, Files.readAllLines(file).size());
    }

    @Test
    void a_hostile_method_cannot_forge_a_line(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("log");
        open(file).request("A\nts=0", "/uppercase", 405, 0, 30, 1);
        open(file).request("X".repeat(100_000), "other", 404, Long.MAX_VALUE, Integer.MAX_VALUE, Long.MAX_VALUE);
        List<String> lines = Files.readAllLines(file);
        assertEquals(2, lines.size());
        assertTrue(lines.getFirst().contains(" method=? "), lines.getFirst());
    }

    @Test
    void lines_of_many_threads_stay_whole(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("log");
        AccessLog log = open(file);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 2_000; i++) {
                threads.execute(() -> log.request("POST", "/uppercase", 200, 13, 13, 42_000));
            }
        }
        List<String> lines = Files.readAllLines(file);
        assertEquals(2_000, lines.size());
        assertTrue(lines.stream().allMatch(line -> line.matches(LINE)));
    }

    private static AccessLog open(Path file) throws Exception {
        return AccessLog.open(Settings.parse("--port=1", "--logging=on", "--log-sink=file", "--log-file=" + file));
    }
}
