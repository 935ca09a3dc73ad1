// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ResourceBundle;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What native-image is told must be there: a library's new version may have renamed it, and no compiler complains. */
final class NativeImageMetadataTest {

    private static final String FILE =
            "/META-INF/native-image/rematch.strings/java-jaxrs/reachability-metadata.json";

    private static Map<?, ?> metadata;

    @BeforeAll
    static void read() throws IOException {
        try (InputStream in = Main.class.getResourceAsStream(FILE);
                JsonParser parser = new JsonFactory().createParser(in)) {
            parser.nextToken();
            metadata = (Map<?, ?>) value(parser);
        }
    }

    @Test
    void everyTypeIsThereWithItsMethodsAndFields() throws ReflectiveOperationException {
        List<?> types = (List<?>) metadata.get("reflection");
        assertTrue(types.size() > 20);
        for (Object one : types) {
            Map<?, ?> said = (Map<?, ?>) one;
            if (said.get("type") instanceof Map<?, ?> proxy) {
                for (Object name : (List<?>) proxy.get("proxy")) {
                    assertTrue(named((String) name).isInterface());
                }
                continue;
            }
            Class<?> type = named((String) said.get("type"));
            for (Object method : (List<?>) said.getOrDefault("methods", List.of())) {
                assertDoesNotThrow(() -> find(type, (Map<?, ?>) method));
            }
            for (Object field : (List<?>) said.getOrDefault("fields", List.of())) {
                type.getDeclaredField((String) ((Map<?, ?>) field).get("name"));
            }
        }
    }

    @Test
    void everyResourceIsThere() {
        for (Object one : (List<?>) metadata.get("resources")) {
            Map<?, ?> said = (Map<?, ?>) one;
            if (said.get("bundle") instanceof String bundle) {
                assertNotNull(ResourceBundle.getBundle(bundle));
            } else {
                assertNotNull(Main.class.getResource("/" + said.get("glob")), () -> "no " + said.get("glob"));
            }
        }
    }

    private static void find(Class<?> type, Map<?, ?> method) throws ReflectiveOperationException {
        List<Class<?>> parameters = new ArrayList<>();
        for (Object name : (List<?>) method.get("parameterTypes")) {
            parameters.add(named((String) name));
        }
        Class<?>[] taken = parameters.toArray(Class<?>[]::new);
        if (method.get("name").equals("<init>")) {
            type.getDeclaredConstructor(taken);
        } else {
            type.getDeclaredMethod((String) method.get("name"), taken);
        }
    }

    private static Class<?> named(String name) throws ClassNotFoundException {
        return switch (name) {
            case "boolean" -> boolean.class;
            case "int" -> int.class;
            case "long" -> long.class;
            default -> name.endsWith("[]")
                    ? named(name.substring(0, name.length() - 2)).arrayType()
                    : Class.forName(name, false, Main.class.getClassLoader());
        };
    }

    private static Object value(JsonParser parser) throws IOException {
        switch (parser.currentToken()) {
            case START_OBJECT -> {
                Map<String, Object> object = new LinkedHashMap<>();
                while (parser.nextToken() != JsonToken.END_OBJECT) {
                    String name = parser.currentName();
                    parser.nextToken();
                    object.put(name, value(parser));
                }
                return object;
            }
            case START_ARRAY -> {
                List<Object> array = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    array.add(value(parser));
                }
                return array;
            }
            default -> {
                return parser.getText();
            }
        }
    }
}
