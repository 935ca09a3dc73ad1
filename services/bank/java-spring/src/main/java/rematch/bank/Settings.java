// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Locale;

/**
 * What the flags say.
 *
 * @param port 0 lets the system choose
 * @param craft how the matched face is written; without effect in the others
 * @param logFile null unless the sink is {@code FILE}
 * @param lean answer with constants and do nothing else: the framework's own cost
 * @param poolSize the most connections of the pool
 * @param poolWaitMs how long a request waits for a connection of the pool and, in the matched face, for the answer to
 *         each statement; the repaired face has a time of its own
 * @param maxThreads how many requests Tomcat works on at once on platform threads
 */
record Settings(String host, int port, Face face, Craft craft, boolean logging, Sink logSink, String logFile, boolean lean,
                Connections connections, int poolSize, int poolWaitMs, Threads threads, int maxThreads) {

    enum Face {
        PUBLISHED, REPAIRED, MATCHED;

        /** Whether it does what a program of 2018 or 2019 did; those two have most of it in common. */
        boolean isOld() {
            return this != MATCHED;
        }
    }

    enum Craft { IDIOMATIC, TUNED }

    enum Sink { NULL, FILE, PIPE }

    enum Connections { PER_STATEMENT, POOL }

    enum Threads { PLATFORM, VIRTUAL }

    /** A flag that cannot be read; the message is one line that says what is allowed. */
    static final class BadFlag extends Exception {
        private static final long serialVersionUID = 1L;

        BadFlag(String message) {
            super(message);
        }
    }

    private static final String KNOWN = "--host, --port, --face, --craft, --logging, --log-sink, --log-file, "
            + "--lean, --connections, --pool-size, --pool-wait-ms, --threads or --max-threads";

    private static final int POOL_SIZE = 20;
    private static final int POOL_SIZE_OF_THE_REMATCH = 95;

    /** Reads {@code --flag value} and {@code --flag=value}; the last of a repeated flag counts. */
    static Settings parse(String... args) throws BadFlag {
        return new Reader(args).read();
    }

    /** The flags seen so far; what is null or negative was not given. */
    private static final class Reader {

        private final Deque<String> left;
        private String host = "127.0.0.1";
        private int port = -1;
        private Face face = Face.MATCHED;
        private Craft craft = Craft.IDIOMATIC;
        private boolean logging;
        private Sink sink = Sink.NULL;
        private String logFile;
        private boolean lean;
        private Connections connections;
        private int poolSize = -1;
        private int poolWaitMs = 10_000;
        private Threads threads = Threads.PLATFORM;
        private int maxThreads = -1;

        Reader(String... args) {
            left = new ArrayDeque<>(Arrays.asList(args));
        }

        Settings read() throws BadFlag {
            while (!left.isEmpty()) {
                String arg = left.pop();
                int equals = arg.indexOf('=');
                String flag = arg.startsWith("--") && equals > 0 ? arg.substring(0, equals) : arg;
                take(arg, flag, flag.equals(arg) ? null : arg.substring(equals + 1));
            }
            return judge();
        }

        private void take(String arg, String flag, String inline) throws BadFlag {
            switch (flag) {
                case "--host" -> host = value(flag, inline);
                case "--port" -> port = number(flag, value(flag, inline), 0, 65_535);
                case "--face" -> face = choice(Face.class, flag, value(flag, inline));
                case "--craft" -> craft = choice(Craft.class, flag, value(flag, inline));
                case "--logging" -> logging = onOff(flag, value(flag, inline));
                case "--log-sink" -> sink = choice(Sink.class, flag, value(flag, inline));
                case "--log-file" -> logFile = value(flag, inline);
                case "--lean" -> lean = inline == null || onOff(flag, inline);
                case "--connections" -> connections = choice(Connections.class, flag, value(flag, inline));
                case "--pool-size" -> poolSize = number(flag, value(flag, inline), 1, 10_000);
                case "--pool-wait-ms" -> poolWaitMs = number(flag, value(flag, inline), 1, 600_000);
                case "--threads" -> threads = choice(Threads.class, flag, value(flag, inline));
                case "--max-threads" -> maxThreads = number(flag, value(flag, inline), 1, 10_000);
                default -> throw new BadFlag("unknown flag " + oneLine(arg) + "; allowed: " + KNOWN);
            }
        }

        private Settings judge() throws BadFlag {
            if (port < 0) {
                throw new BadFlag("--port is missing; allowed: 0..65535");
            }
            if (logging && sink == Sink.FILE && logFile == null) {
                throw new BadFlag("--log-file is missing; --log-sink=file needs a path");
            }
            if (threads == Threads.VIRTUAL && maxThreads > 0) {
                throw new BadFlag("--max-threads limits nothing with --threads=virtual; leave one of them out");
            }
            if (face == Face.REPAIRED && connections == Connections.PER_STATEMENT) {
                throw new BadFlag("--connections=per-statement is not allowed with --face=repaired; allowed: pool");
            }
            Connections usual = face == Face.PUBLISHED ? Connections.PER_STATEMENT : Connections.POOL;
            return new Settings(host, port, face, craft, logging, sink, logFile, lean,
                    connections == null ? usual : connections, poolSize > 0 ? poolSize : usualPoolSize(), poolWaitMs, threads,
                    maxThreads > 0 ? maxThreads : 200);
        }

        private int usualPoolSize() {
            return face == Face.REPAIRED ? POOL_SIZE_OF_THE_REMATCH : POOL_SIZE;
        }

        private String value(String flag, String inline) throws BadFlag {
            String value = inline != null ? inline : left.poll();
            if (value == null || value.isEmpty()) {
                throw new BadFlag(flag + " needs a value");
            }
            return value;
        }
    }

    private static int number(String flag, String value, int least, int most) throws BadFlag {
        if (value.matches("[0-9]{1,9}")) {
            int number = Integer.parseInt(value);
            if (number >= least && number <= most) {
                return number;
            }
        }
        throw bad(flag, value, least + ".." + most);
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
            String name = constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
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
