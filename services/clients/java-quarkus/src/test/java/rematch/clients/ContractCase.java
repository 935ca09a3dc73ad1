// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One line of the contract's {@code cases.jsonl}; {@code body} is null when the request has none. */
record ContractCase(String name, String method, String path, Map<String, String> headers, byte[] body,
        JsonNode expect) {

    private static final Path CASES = Path.of("..", "contract", "cases.jsonl");

    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** The cases of a face that are for Java. */
    static List<ContractCase> of(String face) throws IOException {
        List<ContractCase> cases = new ArrayList<>();
        for (String line : Files.readAllLines(CASES)) {
            JsonNode fields = json(line);
            String language = fields.path("language").asText("java");
            if (face.equals(fields.path("face").asText()) && language.equals("java")) {
                cases.add(of(fields));
            }
        }
        return cases;
    }

    static JsonNode json(String text) throws IOException {
        return MAPPER.readTree(text);
    }

    private static ContractCase of(JsonNode fields) {
        JsonNode request = fields.get("request");
        Map<String, String> headers = new LinkedHashMap<>();
        request.path("headers").properties().forEach(
                header -> headers.put(header.getKey(), header.getValue().asText()));
        return new ContractCase(fields.get("name").asText(), request.get("method").asText(),
                request.get("path").asText(), headers, body(request), fields.get("expect"));
    }

    private static byte[] body(JsonNode request) {
        if (request.has("body")) {
            return request.get("body").asText().getBytes(StandardCharsets.UTF_8);
        }
        if (request.has("body_base64")) {
            return Base64.getDecoder().decode(request.get("body_base64").asText());
        }
        if (request.has("body_repeat")) {
            JsonNode repeat = request.get("body_repeat");
            String units = repeat.get("unit").asText().repeat(repeat.get("count").asInt());
            return (repeat.get("prefix").asText() + units + repeat.get("suffix").asText())
                    .getBytes(StandardCharsets.UTF_8);
        }
        return null;
    }
}
