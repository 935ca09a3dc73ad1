// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import java.net.URI;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What the flags and the environment say.
 *
 * @param port 0 lets the system choose
 * @param logFile null unless the sink is {@code FILE}
 * @param lean answer {@code GET /hello} with a constant and do nothing else: the framework's own cost
 * @param surroundings null when lean, which needs none
 */
record Settings(String host, int port, Face face, Craft craft, Mode mode, boolean logging, Sink logSink,
        String logFile, boolean lean, int upstreamConnections, int upstreamTimeoutMs, int poolSize, int poolMin,
        int poolWaitMs, int minorPercent, Calls calls, Surroundings surroundings) {

    enum Face { PUBLISHED, MATCHED }

    /** How the matched face is written. */
    enum Craft { IDIOMATIC, TUNED }

    enum Mode { BLOCKING, REACTIVE }

    enum Sink { NULL, FILE, PIPE }

    /** Of a {@code /hello} to the upstream: one after the other, or both at once. */
    enum Calls { SEQUENTIAL, PARALLEL }

    /** What the service stands on; {@code upstreamUrl} has no slash at its end, {@code pgPassword} may be empty. */
    record Surroundings(String upstreamUrl, String pgHost, int pgPort, String pgUser, String pgPassword,
            String pgDatabase) {
    }

    /** A setting that cannot be read; the message is one line that says what is allowed. */
    static final class BadSetting extends Exception {
        private static final long serialVersionUID = 1L;

        BadSetting(String message) {
            super(message);
        }
    }

    private static final String KNOWN = "--host, --port, --face, --craft, --mode, --logging, --log-sink, --log-file, --lean, "
            + "--upstream-connections, --upstream-timeout-ms, --pool-size, --pool-min, --pool-wait-ms, "
            + "--minor-percent or --calls";
    private static final List<String> NEEDED =
            List.of("UPSTREAM_URL", "PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE");
    private static final int POOL_MIN = 5;
    private static final int LONGEST_MS = 600_000;

    /** Reads {@code --flag value} and {@code --flag=value}; the last of a repeated flag counts. */
    static Settings parse(Map<String, String> environment, String... args) throws BadSetting {
        String host = "127.0.0.1";
        int port = -1;
        Face face = Face.MATCHED;
        Craft craft = Craft.IDIOMATIC;
        Mode mode = Mode.BLOCKING;
        boolean logging = false;
        Sink sink = Sink.NULL;
        String logFile = null;
        boolean lean = false;
        int upstreamConnections = 30;
        int upstreamTimeoutMs = 5_000;
        int poolSize = 30;
        int poolMin = -1; // 5, or the pool's size when that is smaller
        int poolWaitMs = 10_000;
        int minorPercent = 0;
        Calls calls = null; // both at once in the published face's mode reactive, else one after the other

        Deque<String> left = new ArrayDeque<>(Arrays.asList(args));
        while (!left.isEmpty()) {
            String arg = left.pop();
            int equals = arg.indexOf('=');
            String flag = arg.startsWith("--") && equals > 0 ? arg.substring(0, equals) : arg;
            String inline = flag.equals(arg) ? null : arg.substring(equals + 1);
            switch (flag) {
                case "--host" -> host = value(flag, inline, left);
                case "--port" -> port = number(flag, value(flag, inline, left), 0, 65_535);
                case "--face" -> face = choice(Face.class, flag, value(flag, inline, left));
                case "--craft" -> craft = choice(Craft.class, flag, value(flag, inline, left));
                case "--mode" -> mode = choice(Mode.class, flag, value(flag, inline, left));
                case "--logging" -> logging = onOff(flag, value(flag, inline, left));
                case "--log-sink" -> sink = choice(Sink.class, flag, value(flag, inline, left));
                case "--log-file" -> logFile = value(flag, inline, left);
                case "--lean" -> lean = inline == null || onOff(flag, inline);
                case "--upstream-connections" ->
                        upstreamConnections = number(flag, value(flag, inline, left), 1, 1_000);
                case "--upstream-timeout-ms" ->
                        upstreamTimeoutMs = number(flag, value(flag, inline, left), 1, LONGEST_MS);
                case "--pool-size" -> poolSize = number(flag, value(flag, inline, left), 1, 1_000);
                case "--pool-min" -> poolMin = number(flag, value(flag, inline, left), 0, 1_000);
                case "--pool-wait-ms" -> poolWaitMs = number(flag, value(flag, inline, left), 1, LONGEST_MS);
                case "--minor-percent" -> minorPercent = number(flag, value(flag, inline, left), 0, 100);
                case "--calls" -> calls = choice(Calls.class, flag, value(flag, inline, left));
                default -> throw new BadSetting("unknown flag " + oneLine(arg) + "; allowed: " + KNOWN);
            }
        }
        if (port < 0) {
            throw new BadSetting("--port is missing; allowed: 0..65535");
        }
        if (logging && sink == Sink.FILE && logFile == null) {
            throw new BadSetting("--log-file is missing; --log-sink=file needs a path");
        }
        if (poolMin < 0) {
            poolMin = Math.min(POOL_MIN, poolSize);
        }
        if (poolMin > poolSize) {
            throw bad("--pool-min", Integer.toString(poolMin), "0..--pool-size (" + poolSize + ")");
        }
        if (calls == null) {
            calls = face == Face.PUBLISHED && mode == Mode.REACTIVE ? Calls.PARALLEL : Calls.SEQUENTIAL;
        }
        return new Settings(host, port, face, craft, mode, logging, sink, logFile, lean, upstreamConnections,
                upstreamTimeoutMs, poolSize, poolMin, poolWaitMs, minorPercent, calls,
                lean ? null : surroundings(environment));
    }

    /** A native image has the resources that application.properties names, whatever it is told when it starts. */
    void refuseUnlessReactive() throws BadSetting {
        if (lean) {
            throw new BadSetting("--lean is not allowed in a native image, which has the resources of --mode=reactive");
        }
        if (mode != Mode.REACTIVE) {
            throw bad("--mode", mode.name().toLowerCase(Locale.ROOT), "reactive (in a native image)");
        }
        if (face != Face.MATCHED) {
            throw bad("--face", face.name().toLowerCase(Locale.ROOT), "matched (in a native image)");
        }
        if (craft != Craft.IDIOMATIC) {
            throw bad("--craft", craft.name().toLowerCase(Locale.ROOT), "idiomatic (in a native image)");
        }
    }

    private static Surroundings surroundings(Map<String, String> environment) throws BadSetting {
        String missing = NEEDED.stream()
                .filter(name -> environment.getOrDefault(name, "").isEmpty())
                .filter(name -> !(name.equals("PGPASSWORD") && environment.containsKey(name)))
                .collect(Collectors.joining(", "));
        if (!missing.isEmpty()) {
            throw new BadSetting(missing + " missing in the environment; needed: " + String.join(", ", NEEDED)
                    + " (only PGPASSWORD may be empty)");
        }
        String port = environment.get("PGPORT");
        if (!port.matches("[0-9]{1,5}") || Integer.parseInt(port) < 1 || Integer.parseInt(port) > 65_535) {
            throw bad("PGPORT", port, "1..65535");
        }
        return new Surroundings(upstreamUrl(environment.get("UPSTREAM_URL")), environment.get("PGHOST"),
                Integer.parseInt(port), environment.get("PGUSER"), environment.get("PGPASSWORD"),
                environment.get("PGDATABASE"));
    }

    private static String upstreamUrl(String url) throws BadSetting {
        String bare = url.endsWith("/") ? url.substring(0, url.length() - 1) : url;
        try {
            URI uri = URI.create(bare);
            if ("http".equals(uri.getScheme()) && uri.getHost() != null && uri.getPort() > 0 && uri.getPort() <= 65_535
                    && uri.getRawPath().isEmpty() && uri.getRawQuery() == null && uri.getRawFragment() == null
                    && uri.getRawUserInfo() == null) {
                return bare;
            }
        } catch (IllegalArgumentException unreadable) {
            // falls through: it is refused like one that can be read
        }
        throw bad("UPSTREAM_URL", url, "http://HOST:PORT");
    }

    private static String value(String flag, String inline, Deque<String> left) throws BadSetting {
        String value = inline != null ? inline : left.poll();
        if (value == null || value.isEmpty()) {
            throw new BadSetting(flag + " needs a value");
        }
        return value;
    }

    private static int number(String flag, String value, int smallest, int largest) throws BadSetting {
        if (value.matches("[0-9]{1,6}")) {
            int number = Integer.parseInt(value);
            if (smallest <= number && number <= largest) {
                return number;
            }
        }
        throw bad(flag, value, smallest + ".." + largest);
    }

    private static boolean onOff(String flag, String value) throws BadSetting {
        return switch (value) {
            case "on" -> true;
            case "off" -> false;
            default -> throw bad(flag, value, "off, on");
        };
    }

    private static <E extends Enum<E>> E choice(Class<E> type, String flag, String value) throws BadSetting {
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

    private static BadSetting bad(String name, String value, String allowed) {
        return new BadSetting(name + "=" + oneLine(value) + " is not allowed; allowed: " + allowed);
    }

    private static String oneLine(String text) {
        return text.replaceAll("\\p{Cntrl}", "?");
    }
}
