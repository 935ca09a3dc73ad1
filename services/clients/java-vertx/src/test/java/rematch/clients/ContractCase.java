// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.vertx.core.json.JsonObject;
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
        JsonObject expect) {

    private static final Path CASES = Path.of("..", "contract", "cases.jsonl");

    /** The cases of a face that are for Java. */
    static List<ContractCase> of(String face) throws IOException {
        List<ContractCase> cases = new ArrayList<>();
        for (String line : Files.readAllLines(CASES)) {
            JsonObject fields = new JsonObject(line);
            String language = fields.getString("language");
            if (face.equals(fields.getString("face")) && (language == null || language.equals("java"))) {
                cases.add(of(fields));
            }
        }
        return cases;
    }

    private static ContractCase of(JsonObject fields) {
        JsonObject request = fields.getJsonObject("request");
        Map<String, String> headers = new LinkedHashMap<>();
        request.getJsonObject("headers", new JsonObject()).forEach(
                header -> headers.put(header.getKey(), (String) header.getValue()));
        return new ContractCase(fields.getString("name"), request.getString("method"), request.getString("path"),
                headers, body(request), fields.getJsonObject("expect"));
    }

    private static byte[] body(JsonObject request) {
        if (request.getValue("body") instanceof String text) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
        if (request.getValue("body_base64") instanceof String encoded) {
            return Base64.getDecoder().decode(encoded);
        }
        if (request.getValue("body_repeat") instanceof JsonObject repeat) {
            String units = repeat.getString("unit").repeat(repeat.getInteger("count"));
            return (repeat.getString("prefix") + units + repeat.getString("suffix")).getBytes(StandardCharsets.UTF_8);
        }
        return null;
    }
}
