// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
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
record ContractCase(String name, String method, String path, Map<?, ?> headers, byte[] body, Map<?, ?> expect) {

    private static final Path CASES = Path.of("..", "contract", "cases.jsonl");
    private static final JsonFactory FACTORY = new JsonFactory();

    /** The folder's name is the service's. */
    private static final String SERVICE = Path.of("").toAbsolutePath().getFileName().toString();

    /** The cases of a face that are for Java and for this service. */
    static List<ContractCase> of(String face) throws IOException {
        List<ContractCase> cases = new ArrayList<>();
        for (String line : Files.readAllLines(CASES)) {
            Map<?, ?> fields = (Map<?, ?>) json(line);
            Object language = fields.get("language");
            boolean ours = fields.get("services") instanceof List<?> services
                    ? services.contains(SERVICE)
                    : language == null || language.equals("java");
            if (face.equals(fields.get("face")) && ours) {
                cases.add(of(fields));
            }
        }
        return cases;
    }

    static Object json(String text) throws IOException {
        try (JsonParser parser = FACTORY.createParser(text)) {
            parser.nextToken();
            return value(parser);
        }
    }

    private static ContractCase of(Map<?, ?> fields) {
        Map<?, ?> request = (Map<?, ?>) fields.get("request");
        return new ContractCase((String) fields.get("name"), (String) request.get("method"),
                (String) request.get("path"), (Map<?, ?>) request.get("headers"), body(request),
                (Map<?, ?>) fields.get("expect"));
    }

    private static byte[] body(Map<?, ?> request) {
        if (request.get("body") instanceof String text) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
        if (request.get("body_base64") instanceof String encoded) {
            return Base64.getDecoder().decode(encoded);
        }
        if (request.get("body_repeat") instanceof Map<?, ?> repeat) {
            String units = ((String) repeat.get("unit")).repeat((Integer) repeat.get("count"));
            return (repeat.get("prefix") + units + repeat.get("suffix")).getBytes(StandardCharsets.UTF_8);
        }
        return null;
    }

    private static Object value(JsonParser parser) throws IOException {
        return switch (parser.currentToken()) {
            case START_OBJECT -> {
                Map<String, Object> fields = new LinkedHashMap<>();
                while (parser.nextToken() == JsonToken.FIELD_NAME) {
                    String name = parser.currentName();
                    parser.nextToken();
                    fields.put(name, value(parser));
                }
                yield fields;
            }
            case START_ARRAY -> {
                List<Object> items = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    items.add(value(parser));
                }
                yield items;
            }
            case VALUE_NUMBER_INT -> parser.getIntValue();
            case VALUE_STRING -> parser.getText();
            default -> throw new IOException("no contract case holds a " + parser.currentToken());
        };
    }
}
