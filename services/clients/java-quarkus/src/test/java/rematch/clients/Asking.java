// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;

/** Asks a service over HTTP. */
final class Asking implements AutoCloseable {

    /** What came back, shortened to what tests look at. */
    record Said(int status, String body, HttpResponse<byte[]> whole) {

        @Override
        public String toString() {
            return status + " " + body;
        }
    }

    /** A request without an answer fails the test, which would otherwise wait for ever. */
    private static final Duration UNANSWERED = Duration.ofMinutes(5);

    /** What follows an answer, follows it within this time. */
    private static final Duration SOON = Duration.ofMinutes(2);

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final int port;

    Asking(int port) {
        this.port = port;
    }

    Said get(String path) throws IOException, InterruptedException {
        return send("GET", path, BodyPublishers.noBody(), Map.of());
    }

    Said send(String method, String path, BodyPublisher body, Map<String, String> headers)
            throws IOException, InterruptedException {
        return said(http.send(request(method, path, body, headers), BodyHandlers.ofByteArray()));
    }

    /** Many at one time. */
    List<Said> getAtOnce(String path, int times) {
        List<CompletableFuture<Said>> asked = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            asked.add(http.sendAsync(request("GET", path, BodyPublishers.noBody(), Map.of()),
                    BodyHandlers.ofByteArray()).thenApply(Asking::said));
        }
        return asked.stream().map(CompletableFuture::join).toList();
    }

    /** The value of a metric, or -1 when it is not there. */
    double metric(String nameAndLabels) throws IOException, InterruptedException {
        return get("/metrics").body().lines()
                .filter(line -> line.startsWith(nameAndLabels + " "))
                .mapToDouble(line -> Double.parseDouble(line.substring(nameAndLabels.length() + 1)))
                .findFirst().orElse(-1);
    }

    /** The metrics once they hold these lines: a request may be counted after its answer. Their absence fails the test. */
    String metricsWith(List<String> lines) throws IOException, InterruptedException {
        long end = System.nanoTime() + SOON.toNanos();
        String metrics;
        do {
            metrics = get("/metrics").body();
        } while (!lines.stream().allMatch(metrics::contains) && System.nanoTime() < end);
        for (String line : lines) {
            assertTrue(metrics.contains(line), line + " is not in\n" + metrics);
        }
        return metrics;
    }

    /** Waits for something that happens soon after an answer; it fails the test by never happening. */
    static void until(String what, BooleanSupplier happened) throws InterruptedException {
        long end = System.nanoTime() + SOON.toNanos();
        while (!happened.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("never: " + what);
            }
            Thread.sleep(20);
        }
    }

    @Override
    public void close() {
        http.close();
    }

    private HttpRequest request(String method, String path, BodyPublisher body, Map<String, String> headers) {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).method(method, body)
                        .timeout(UNANSWERED);
        headers.forEach(request::header);
        return request.build();
    }

    private static Said said(HttpResponse<byte[]> response) {
        return new Said(response.statusCode(), new String(response.body(), StandardCharsets.UTF_8), response);
    }
}
