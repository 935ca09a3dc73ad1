// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** One line of the contract's {@code cases.jsonl}, with what earlier answers gave put into it. */
record ContractCase(String name, JsonNode fields) {

    static final JsonMapper JSON = JsonMapper.shared();

    private static final Path CASES = Path.of("..", "contract", "cases.jsonl");

    /** The cases of a face that are for Java, in their order, in which each may need what came before. */
    static List<ContractCase> of(String face) throws IOException {
        return Files.readAllLines(CASES).stream()
                .map(JSON::readTree)
                .filter(fields -> fields.get("face").asString().equals(face))
                .filter(fields -> !fields.has("language") || fields.get("language").asString().equals("java"))
                .map(fields -> new ContractCase(fields.get("name").asString(), fields))
                .toList();
    }

    /** The case with names replaced by what was captured; a JSON string that is only a name becomes the value itself. */
    ContractCase with(Map<String, String> captured) {
        String text = fields.toString();
        for (Map.Entry<String, String> one : captured.entrySet()) {
            String name = "${" + one.getKey() + "}";
            text = text.replace('"' + name + '"', one.getValue()).replace(name, one.getValue());
        }
        return new ContractCase(name, JSON.readTree(text));
    }

    String method() {
        return fields.at("/request/method").asString();
    }

    String path() {
        return fields.at("/request/path").asString();
    }

    Map<String, String> headers() {
        return texts(fields.at("/request/headers"));
    }

    /** Null when the request has none. */
    byte[] body() {
        JsonNode request = fields.get("request");
        if (request.has("body")) {
            return request.get("body").asString().getBytes(StandardCharsets.UTF_8);
        }
        if (request.has("body_base64")) {
            return Base64.getDecoder().decode(request.get("body_base64").asString());
        }
        if (request.has("body_repeat")) {
            JsonNode repeat = request.get("body_repeat");
            String units = repeat.get("unit").asString().repeat(repeat.get("count").asInt());
            return (repeat.get("prefix").asString() + units + repeat.get("suffix").asString())
                    .getBytes(StandardCharsets.UTF_8);
        }
        return null;
    }

    JsonNode expect() {
        return fields.get("expect");
    }

    Map<String, String> expectedHeaders() {
        return texts(fields.at("/expect/headers"));
    }

    /** Names, and the pointers into the answer at which their values stand. */
    Map<String, String> capture() {
        return texts(fields.at("/capture"));
    }

    private static Map<String, String> texts(JsonNode object) {
        Map<String, String> texts = new TreeMap<>();
        object.properties().forEach(one -> texts.put(one.getKey(), one.getValue().asString()));
        return texts;
    }
}
