// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

/** The paths, compared as they were sent. */
enum Route {
    HELLO("/hello"),
    DB("/db"),
    HEALTH("/health"),
    METRICS("/metrics"),
    OTHER("other");

    private final String path;

    Route(String path) {
        this.path = path;
    }

    /** As it stands in log lines and metric labels. */
    String path() {
        return path;
    }

    /** Whether requests are counted, timed and logged. */
    boolean observed() {
        return this != HEALTH && this != METRICS;
    }

    static Route of(String rawPath) {
        if (rawPath == null) { // a switch on null needs Java 21; a copy of this is compiled for 17
            return OTHER;
        }
        return switch (rawPath) {
            case "/hello" -> HELLO;
            case "/db" -> DB;
            case "/health" -> HEALTH;
            case "/metrics" -> METRICS;
            default -> OTHER;
        };
    }
}
