// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Locale;

/** What the flags say to a program that has the published face alone; written for Java 11. */
final class Settings {

    enum Sink { NULL, FILE, PIPE }

    /** A flag that cannot be read; the message is one line that says what is allowed. */
    static final class BadFlag extends Exception {
        private static final long serialVersionUID = 1L;

        BadFlag(String message) {
            super(message);
        }
    }

    private static final String KNOWN = "--host, --port, --face, --logging, --log-sink or --log-file";

    private String host = "127.0.0.1";
    private int port = -1;
    private String face = "";
    private boolean logging;
    private Sink logSink = Sink.NULL;
    private String logFile;

    private Settings() {
    }

    String host() {
        return host;
    }

    /** 0 lets the system choose. */
    int port() {
        return port;
    }

    boolean logging() {
        return logging;
    }

    Sink logSink() {
        return logSink;
    }

    /** Null unless the sink is {@code FILE}. */
    String logFile() {
        return logFile;
    }

    /** Reads {@code --flag value} and {@code --flag=value}; the last of a repeated flag counts. */
    static Settings parse(String... args) throws BadFlag {
        Settings read = new Settings();
        Deque<String> left = new ArrayDeque<>(Arrays.asList(args));
        while (!left.isEmpty()) {
            String arg = left.pop();
            int equals = arg.indexOf('=');
            String flag = arg.startsWith("--") && equals > 0 ? arg.substring(0, equals) : arg;
            String inline = flag.equals(arg) ? null : arg.substring(equals + 1);
            read.take(flag, inline, left);
        }
        if (read.port < 0) {
            throw new BadFlag("--port is missing; allowed: 0..65535");
        }
        if (!read.face.equals("published")) {
            throw new BadFlag("this program has one face; needed: --face=published");
        }
        if (read.logging && read.logSink == Sink.FILE && read.logFile == null) {
            throw new BadFlag("--log-file is missing; --log-sink=file needs a path");
        }
        return read;
    }

    private void take(String flag, String inline, Deque<String> left) throws BadFlag {
        switch (flag) {
            case "--host":
                host = value(flag, inline, left);
                break;
            case "--port":
                port = port(value(flag, inline, left));
                break;
            case "--face":
                face = choice(flag, value(flag, inline, left), "published");
                break;
            case "--logging":
                logging = choice(flag, value(flag, inline, left), "off", "on").equals("on");
                break;
            case "--log-sink":
                logSink = Sink.valueOf(choice(flag, value(flag, inline, left), "null", "file", "pipe").toUpperCase(Locale.ROOT));
                break;
            case "--log-file":
                logFile = value(flag, inline, left);
                break;
            default:
                throw new BadFlag("unknown flag " + oneLine(flag) + "; allowed: " + KNOWN);
        }
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

    private static String choice(String flag, String value, String... allowed) throws BadFlag {
        if (Arrays.asList(allowed).contains(value)) {
            return value;
        }
        throw bad(flag, value, String.join(", ", allowed));
    }

    private static BadFlag bad(String flag, String value, String allowed) {
        return new BadFlag(flag + "=" + oneLine(value) + " is not allowed; allowed: " + allowed);
    }

    private static String oneLine(String text) {
        return text.replaceAll("\\p{Cntrl}", "?");
    }
}
