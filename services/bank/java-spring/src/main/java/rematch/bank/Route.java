// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

/** The service's paths, compared as they were sent: Spring would decode them and drop what follows a semicolon. */
enum Route {
    OPEN("/client/new", "POST"),
    TRANSFER("/transaction", "POST"),
    BALANCE("/client/balance", "GET"),
    HEALTH("/health", "GET"),
    METRICS("/metrics", "GET"),
    OTHER("other", null);

    private static final String CLIENT = "/client/";
    private static final String NEW = CLIENT + "new/";
    private static final String OF_BALANCE = "/balance";

    private final String path;
    private final String method;

    Route(String path, String method) {
        this.path = path;
        this.method = method;
    }

    /** As it stands in log lines and metric labels. */
    String path() {
        return path;
    }

    /** The one method it takes. */
    String method() {
        return method;
    }

    boolean takes(String asked) {
        return asked.equals(method) || asked.equals("HEAD") && method.equals("GET");
    }

    /** Whether its requests are counted, timed and logged. */
    boolean isWorkload() {
        return this != HEALTH && this != METRICS;
    }

    /** The route of a path; {@code /client/new/balance} is two of them, which the method tells apart. */
    static Route of(String rawPath, String asked) {
        if (rawPath == null) { // a switch on null needs Java 21; a copy of this is compiled for 17
            return OTHER;
        }
        return switch (rawPath) {
            case "/transaction" -> TRANSFER;
            case "/health" -> HEALTH;
            case "/metrics" -> METRICS;
            default -> ofClient(rawPath, asked);
        };
    }

    private static Route ofClient(String rawPath, String asked) {
        boolean opens = rawPath.startsWith(NEW) && isSegment(rawPath, NEW.length(), rawPath.length());
        boolean asksBalance = rawPath.startsWith(CLIENT) && rawPath.endsWith(OF_BALANCE)
                && isSegment(rawPath, CLIENT.length(), rawPath.length() - OF_BALANCE.length());
        if (opens && asksBalance) {
            return BALANCE.takes(asked) ? BALANCE : OPEN;
        }
        return opens ? OPEN : asksBalance ? BALANCE : OTHER;
    }

    /** Whether there is one segment, and not an empty one, that means the same before and after decoding. */
    private static boolean isSegment(String path, int from, int to) {
        for (int i = from; i < to; i++) {
            char c = path.charAt(i);
            if (c == '/' || c == '%' || c == ';') {
                return false;
            }
        }
        return from < to;
    }
}
