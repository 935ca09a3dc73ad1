// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The flag {@code --logger}: how the matched face writes the line of a request.
 *
 * @param name one of {@link #NAMES}
 * @param others the arguments without this flag
 */
record Loggers(String name, String... others) {

    static final String BY_HAND = "by-hand";
    static final List<String> NAMES = List.of(BY_HAND, "jul", "logback", "logback-async");
    private static final String FLAG = "--logger";

    /** Logback and what belongs to it, beside the service's jar and on nobody's class path unless it is asked for. */
    private static final String FOLDER = "loggers";
    private static final String LOGBACK = "rematch.strings.LogbackRequests";

    /** Takes the flag out of the arguments, as {@code --logger NAME} or {@code --logger=NAME}; the last one counts. */
    static Loggers of(String... args) throws Settings.BadFlag {
        String name = BY_HAND;
        List<String> others = new ArrayList<>();
        for (int i = 0; i < args.length; i++) {
            if (args[i].startsWith(FLAG + "=")) {
                name = known(args[i].substring(FLAG.length() + 1));
            } else if (args[i].equals(FLAG)) {
                name = known(++i < args.length ? args[i] : "");
            } else {
                others.add(args[i]);
            }
        }
        return new Loggers(name, others.toArray(String[]::new));
    }

    private static String known(String name) throws Settings.BadFlag {
        if (!NAMES.contains(name)) {
            throw new Settings.BadFlag(FLAG + "=" + name.replaceAll("\\p{Cntrl}", "?") + " is not allowed; allowed: "
                    + String.join(", ", NAMES));
        }
        return name;
    }

    /** Whether lines are written by a logging library: the matched face logs, and not by hand. */
    boolean isLibrary(Settings settings) {
        return settings.logging() && !settings.lean() && settings.face() == Settings.Face.MATCHED && !name.equals(BY_HAND);
    }

    /** Opens the library's logger; to be asked only where {@link #isLibrary} says so. */
    RequestLogger open(Settings settings) throws IOException {
        String file = switch (settings.logSink()) {
            case NULL -> "/dev/null";
            case FILE -> settings.logFile();
            case PIPE -> null;
        };
        return name.equals("jul") ? new JulRequests(file) : logback(file);
    }

    /** Is loaded by its name, so that neither a start without Logback nor another form of the program has to do with it. */
    private RequestLogger logback(String file) throws IOException {
        try {
            return (RequestLogger) Class.forName(LOGBACK, true, loader())
                    .getConstructor(String.class, boolean.class)
                    .newInstance(file, name.equals("logback-async"));
        } catch (ClassNotFoundException missing) {
            throw new IOException("this form of the service comes without Logback", missing);
        } catch (InvocationTargetException failed) {
            throw failed.getCause() instanceof IOException cause ? cause : new IOException(failed.getCause());
        } catch (ReflectiveOperationException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private static ClassLoader loader() throws IOException {
        List<URL> jars = new ArrayList<>();
        Path folder = besideTheJar();
        if (folder != null && Files.isDirectory(folder)) {
            try (DirectoryStream<Path> found = Files.newDirectoryStream(folder, "*.jar")) {
                for (Path jar : found) {
                    jars.add(jar.toUri().toURL());
                }
            }
        }
        ClassLoader own = Loggers.class.getClassLoader();
        return jars.isEmpty() ? own : new URLClassLoader(jars.toArray(URL[]::new), own);
    }

    private static Path besideTheJar() {
        try {
            File jar = new File(Loggers.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            return jar.toPath().resolveSibling(FOLDER);
        } catch (URISyntaxException | NullPointerException | IllegalArgumentException noJar) {
            return null; // a native image has none
        }
    }
}
