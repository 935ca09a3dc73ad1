// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import javax.json.Json;
import javax.json.JsonObject;
import javax.json.JsonReader;
import javax.json.JsonValue;
import java.io.StringReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Every case of the contract that is for this program, and what it does beside answering. */
final class PublishedTest {

    private static final Path CASES = Path.of("..", "contract", "cases.jsonl");

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private Main.Running running;

    @AfterEach
    void stop() {
        if (running != null) {
            running.close();
        }
        http.close();
    }

    @TestFactory
    Stream<DynamicTest> every_case_of_the_contract() throws Exception {
        running = Main.serve(Settings.parse("--port=0", "--face=published"));
        List<JsonObject> cases = Files.readAllLines(CASES).stream()
                .map(PublishedTest::json)
                .map(JsonValue::asJsonObject)
                .filter(PublishedTest::isOurs)
                .toList();
        assertTrue(cases.size() > 15, () -> cases.size() + " cases");
        return cases.stream().map(given -> DynamicTest.dynamicTest(given.getString("name"), () -> check(given)));
    }

    @Test
    void a_value_is_logged_before_the_work_and_its_absence_is_a_warning(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("log");
        running = Main.serve(Settings.parse(
                "--port=0", "--face=published", "--logging=on", "--log-sink=file", "--log-file=" + file));
        send("POST", "/uppercase", "{\"s\":\"hello\"}");
        send("POST", "/count", "{\"s\":\"a\"}");
        send("POST", "/count", "{}");
        List<String> lines = Files.readAllLines(file).stream().map(line -> line.substring("2026.01.01 00:00:00 ".length())).toList();
        assertEquals(List.of(
                "INFO rematch.strings.api.StringService !thread!: uppercase request: hello",
                "INFO rematch.strings.api.StringService !thread!: count request: a",
                "WARNING rematch.strings.api.StringService !thread!: request value is empty"), lines);
    }

    private static boolean isOurs(JsonObject given) {
        if (!given.getString("face").equals("published")) {
            return false;
        }
        return given.containsKey("services")
                ? given.getJsonArray("services").contains(Json.createValue("java-jaxrs-2020"))
                : given.getString("language", "java").equals("java");
    }

    private void check(JsonObject given) throws Exception {
        JsonObject request = given.getJsonObject("request");
        HttpResponse<String> answer =
                send(request.getString("method"), request.getString("path"), request.getString("body", null));
        JsonObject expect = given.getJsonObject("expect");
        assertEquals(expect.getInt("status"), answer.statusCode(), answer.body());
        if (expect.containsKey("body")) {
            assertEquals(expect.getString("body"), answer.body());
        }
        if (expect.containsKey("json")) {
            assertEquals(expect.get("json"), json(answer.body()));
        }
    }

    private HttpResponse<String> send(String method, String path, String body) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + running.port() + path))
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
        if (body != null) {
            request.header("Content-Type", "application/json");
        }
        return http.send(request.build(), BodyHandlers.ofString());
    }

    private static JsonValue json(String text) {
        try (JsonReader reader = Json.createReader(new StringReader(text))) {
            return reader.readValue();
        }
    }
}
