// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Locale;

/**
 * What the flags say.
 *
 * @param port 0 lets the system choose
 * @param logFile null unless the sink is {@code FILE}
 * @param logLock where records of the published face wait for each other
 * @param lean answer {@code POST /uppercase} with a constant and do nothing else: the framework's own cost
 */
record Settings(String host, int port, Face face, Craft craft, boolean logging, Sink logSink, String logFile,
                LogLock logLock, boolean lean) {

    enum Face { PUBLISHED, MATCHED }

    /** How the matched face reads and writes JSON. */
    enum Craft { IDIOMATIC, TUNED }

    enum Sink { NULL, FILE, PIPE }

    /** See {@code --log-lock} in {@code services/strings/README.md}. */
    enum LogLock { PUBLISHED, JDK, NONE }

    /** A flag that cannot be read; the message is one line that says what is allowed. */
    static final class BadFlag extends Exception {
        private static final long serialVersionUID = 1L;

        BadFlag(String message) {
            super(message);
        }
    }

    private static final String KNOWN =
            "--host, --port, --face, --craft, --logging, --log-sink, --log-file, --log-lock or --lean";

    /** Reads {@code --flag value} and {@code --flag=value}; the last of a repeated flag counts. */
    static Settings parse(String... args) throws BadFlag {
        String host = "127.0.0.1";
        int port = -1;
        Face face = Face.MATCHED;
        Craft craft = Craft.TUNED;
        boolean logging = false;
        Sink sink = Sink.NULL;
        String logFile = null;
        LogLock logLock = LogLock.PUBLISHED;
        boolean lean = false;

        Deque<String> left = new ArrayDeque<>(Arrays.asList(args));
        while (!left.isEmpty()) {
            String arg = left.pop();
            int equals = arg.indexOf('=');
            String flag = arg.startsWith("--") && equals > 0 ? arg.substring(0, equals) : arg;
            String inline = flag.equals(arg) ? null : arg.substring(equals + 1);
            switch (flag) {
                case "--host" -> host = value(flag, inline, left);
                case "--port" -> port = port(value(flag, inline, left));
                case "--face" -> face = choice(Face.class, flag, value(flag, inline, left));
                case "--craft" -> craft = choice(Craft.class, flag, value(flag, inline, left));
                case "--logging" -> logging = onOff(flag, value(flag, inline, left));
                case "--log-sink" -> sink = choice(Sink.class, flag, value(flag, inline, left));
                case "--log-file" -> logFile = value(flag, inline, left);
                case "--log-lock" -> logLock = choice(LogLock.class, flag, value(flag, inline, left));
                case "--lean" -> lean = inline == null || onOff(flag, inline);
                default -> throw new BadFlag("unknown flag " + oneLine(arg) + "; allowed: " + KNOWN);
            }
        }
        if (port < 0) {
            throw new BadFlag("--port is missing; allowed: 0..65535");
        }
        if (logging && sink == Sink.FILE && logFile == null) {
            throw new BadFlag("--log-file is missing; --log-sink=file needs a path");
        }
        return new Settings(host, port, face, craft, logging, sink, logFile, logLock, lean);
    }

    private static String value(String flag, String inline, Deque<String> left) throws BadFlag {
        String value = inline != null ? inline : left.poll();
        if (value == null || value.isEmpty()) {
            throw new BadFlag(flag + " needs a value");
        }
        return value;
    }

    private static int port(String value) throws BadFlag {
        if (value.matches("[0-9]{1,5}") && Integer.parseInt(value) <= 65_535) {
            return Integer.parseInt(value);
        }
        throw bad("--port", value, "0..65535");
    }

    private static boolean onOff(String flag, String value) throws BadFlag {
        return switch (value) {
            case "on" -> true;
            case "off" -> false;
            default -> throw bad(flag, value, "off, on");
        };
    }

    private static <E extends Enum<E>> E choice(Class<E> type, String flag, String value) throws BadFlag {
        StringBuilder allowed = new StringBuilder();
        for (E constant : type.getEnumConstants()) {
            String name = constant.name().toLowerCase(Locale.ROOT);
            if (name.equals(value)) {
                return constant;
            }
            allowed.append(allowed.isEmpty() ? "" : ", ").append(name);
        }
        throw bad(flag, value, allowed.toString());
    }

    private static BadFlag bad(String flag, String value, String allowed) {
        return new BadFlag(flag + "=" + oneLine(value) + " is not allowed; allowed: " + allowed);
    }

    private static String oneLine(String text) {
        return text.replaceAll("\\p{Cntrl}", "?");
    }
}
