// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The jar that Quarkus built, started as production starts it, or the native image that {@code -Drematch.image} names. */
final class Service implements AutoCloseable {

    private static final Path JAR = Path.of("target", "service-runner.jar");
    private static final String IMAGE = System.getProperty("rematch.image");
    private static final Predicate<String> REFUSED =
            Pattern.compile("--(mode|lean|face|craft).*native image.*").asMatchPredicate();
    private static final int STOP_WITHIN_S = 120;

    private final Process process;
    private final BufferedReader err;
    private final Queue<String> said = new ConcurrentLinkedQueue<>();

    private Service(Process process) {
        this.process = process;
        this.err = process.errorReader();
    }

    static Service start(Map<String, String> environment, String... flags) throws IOException {
        List<String> command = new ArrayList<>(IMAGE != null ? List.of(IMAGE) : List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1", "-jar", JAR.toString()));
        command.addAll(List.of(flags));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().keySet().removeIf(name -> name.startsWith("PG") || name.equals("UPSTREAM_URL"));
        builder.environment().putAll(environment);
        Process process = builder.start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly)); // if the tests are stopped
        return new Service(process);
    }

    /** Waits for the line that tells; what is said later is kept. */
    int port() throws IOException {
        String line = err.readLine();
        while (line != null && !line.startsWith("listening ")) {
            said.add(line);
            line = err.readLine();
        }
        assumeFalse(IMAGE != null && line == null && said.stream().anyMatch(REFUSED),
                "an image has mode reactive and the matched face alone");
        if (line == null || !line.matches("listening host=127\\.0\\.0\\.1 port=[0-9]+")) {
            throw new IOException("it does not listen: " + said);
        }
        Thread.ofVirtual().start(this::listen);
        return Integer.parseInt(line.substring(line.lastIndexOf('=') + 1));
    }

    private void listen() {
        try {
            for (String line = err.readLine(); line != null; line = err.readLine()) {
                said.add(line);
            }
        } catch (IOException ended) {
            // nothing more will be said
        }
    }

    /** What it has said on stderr since it listens, or before when it never did. */
    List<String> said() {
        return said.stream().filter(Service::own).toList();
    }

    /** What is said until the end, without the JVM's own warnings. */
    List<String> rest() {
        try (Stream<String> lines = err.lines()) {
            return lines.filter(Service::own).toList();
        }
    }

    void terminate() {
        process.destroy();
    }

    int status() throws InterruptedException {
        return process.waitFor();
    }

    @Override
    public void close() {
        process.destroy();
        if (process.onExit().completeOnTimeout(null, STOP_WITHIN_S, TimeUnit.SECONDS).join() == null) {
            process.destroyForcibly();
            throw new IllegalStateException("SIGTERM did not end the service");
        }
    }

    private static boolean own(String line) {
        return !line.startsWith("WARNING: ") && !line.startsWith("OpenJDK ");
    }
}
