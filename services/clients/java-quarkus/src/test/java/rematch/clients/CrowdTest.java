// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A process that has just started is asked for more at one time than it has worker threads, so that all of them wait for
 * the upstream: what ends their waiting must need none.
 */
final class CrowdTest {

    /** Quarkus has at most 200 worker threads, or eight per processor where that is more. */
    private static final int CROWD = 2 * Math.max(200, 8 * Runtime.getRuntime().availableProcessors());
    private static final String TIMEOUT = "504 {\"error\":\"upstream_timeout\"}";

    /** A busy machine may keep a process from running for seconds: what is right in time anyhow has this long. */
    private static final String LONG = "--upstream-timeout-ms=30000";

    /** Where a timeout is waited for, and what is right afterwards has to be in time too. */
    private static final String SHORT = "--upstream-timeout-ms=5000";

    /** Longer than a test waits for the end of a service. */
    private static final String ENDLESS = "--upstream-timeout-ms=600000";

    @ParameterizedTest
    @ValueSource(strings = {"--mode=blocking", "--mode=reactive", "--craft=tuned"})
    void each_of_a_crowd_is_answered_when_the_upstream_is_slow(String mode) throws Exception {
        try (UpstreamStub upstream = UpstreamStub.start()) {
            upstream.behave((path, out) -> {
                Thread.sleep(300);
                return UpstreamStub.right(path, out);
            });
            try (Service service = start(upstream, mode, LONG, "--upstream-connections=100");
                    Asking asking = new Asking(service.port())) {
                Set<String> said = asking.getAtOnce("/hello?client=1", CROWD).stream()
                        .map(answer -> answer.status() == 200 ? "200" : answer.toString()).collect(Collectors.toSet());
                assertTrue(said.contains("200") && Set.of("200", TIMEOUT).containsAll(said), said.toString());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"--mode=blocking", "--mode=reactive", "--craft=tuned"})
    void each_of_a_crowd_is_a_timeout_when_the_upstream_never_stops_talking_and_the_next_is_served(String mode)
            throws Exception {
        try (UpstreamStub upstream = UpstreamStub.start()) {
            upstream.behave(CrowdTest::talking);
            try (Service service = start(upstream, mode, SHORT);
                    Asking asking = new Asking(service.port())) {
                assertEquals(Set.of(TIMEOUT), asking.getAtOnce("/hello", CROWD).stream()
                        .map(Asking.Said::toString).collect(Collectors.toSet()));
                upstream.recover();
                Asking.until("late connections are closed", () -> upstream.busy() == 0);
                // a busy machine may need longer than the limit for so many; workers that never come back always do
                Asking.until("the next are served", () -> Set.of(200).equals(asking.getAtOnce("/hello", 60).stream()
                        .map(Asking.Said::status).collect(Collectors.toSet())));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"--mode=blocking", "--mode=reactive"})
    void sigterm_ends_a_service_whose_crowd_waits_for_a_silent_upstream(String mode) throws Exception {
        try (UpstreamStub upstream = UpstreamStub.start()) {
            upstream.behave(CrowdTest::silent);
            Service service = start(upstream, mode, ENDLESS, "--upstream-connections=30");
            try (Asking asking = new Asking(service.port())) {
                CompletableFuture<List<Asking.Said>> crowd =
                        CompletableFuture.supplyAsync(() -> asking.getAtOnce("/hello", CROWD));
                Asking.until("the upstream is asked as often as allowed", () -> upstream.busy() == 30);
                service.close(); // fails when SIGTERM does not end it
                assertTrue(List.of(0, 143).contains(service.status()));
                crowd.handle((said, failed) -> said).join();
            }
        }
    }

    private static Service start(UpstreamStub upstream, String... flags) throws Exception {
        Map<String, String> environment = new HashMap<>(Map.of("PGHOST", "127.0.0.1", "PGPORT", "1", "PGUSER", "u",
                "PGPASSWORD", "p", "PGDATABASE", "d"));
        environment.put("UPSTREAM_URL", upstream.url());
        return Service.start(environment, Stream.concat(Stream.of("--port=0"), Stream.of(flags)).toArray(String[]::new));
    }

    /** Only the service's own limit ends it: the REST client's counts silence. */
    private static boolean talking(String path, OutputStream out) throws IOException, InterruptedException {
        out.write("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n[".getBytes(StandardCharsets.US_ASCII));
        while (true) {
            out.write(' ');
            out.flush();
            Thread.sleep(100);
        }
    }

    private static boolean silent(String path, OutputStream out) throws InterruptedException {
        Thread.sleep(600_000);
        return false;
    }
}
