// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ResourceBundle;
import org.junit.jupiter.api.Test;

/** What native-image is told must be there: a library's next version may rename it, and no compiler complains of that. */
final class NativeImageMetadataTest {

    private static final Path FILE = Path.of("src", "main", "resources", "META-INF", "native-image", "rematch.strings",
            "java-jaxrs", "reachability-metadata.json");

    @Test
    void every_type_is_there_with_its_methods_and_fields() throws IOException, ReflectiveOperationException {
        List<?> types = told("reflection");
        assertTrue(types.size() > 20);
        for (Object one : types) {
            Map<?, ?> said = (Map<?, ?>) one;
            if (said.get("type") instanceof String name) {
                members(named(name), said);
            } else {
                for (Object name : list((Map<?, ?>) said.get("type"), "proxy")) {
                    assertTrue(named((String) name).isInterface());
                }
            }
        }
    }

    @Test
    void every_resource_is_there() throws IOException {
        for (Object one : told("resources")) {
            Map<?, ?> said = (Map<?, ?>) one;
            if (said.get("bundle") instanceof String bundle) {
                assertNotNull(ResourceBundle.getBundle(bundle));
            } else {
                assertNotNull(Main.class.getResource("/" + said.get("glob")), () -> "no " + said.get("glob"));
            }
        }
    }

    private static List<?> told(String part) throws IOException {
        return list((Map<?, ?>) ContractCase.json(Files.readString(FILE)), part);
    }

    private static List<?> list(Map<?, ?> fields, String name) {
        return fields.get(name) instanceof List<?> found ? found : List.of();
    }

    private static void members(Class<?> type, Map<?, ?> said) throws ReflectiveOperationException {
        for (Object one : list(said, "methods")) {
            Map<?, ?> method = (Map<?, ?>) one;
            List<Class<?>> parameters = new ArrayList<>();
            for (Object name : list(method, "parameterTypes")) {
                parameters.add(named((String) name));
            }
            Class<?>[] taken = parameters.toArray(Class<?>[]::new);
            if (method.get("name").equals("<init>")) {
                type.getDeclaredConstructor(taken);
            } else {
                type.getDeclaredMethod((String) method.get("name"), taken);
            }
        }
        for (Object one : list(said, "fields")) {
            type.getDeclaredField((String) ((Map<?, ?>) one).get("name"));
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
}
