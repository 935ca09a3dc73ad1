// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

/** The workload's paths, compared as they were sent. */
enum Route {
    UPPERCASE("/uppercase"),
    COUNT("/count"),
    WORK("/work"),
    OTHER("other");

    private final String path;

    Route(String path) {
        this.path = path;
    }

    /** As it stands in log lines and metric labels. */
    String path() {
        return path;
    }

    static Route of(String rawPath) {
        if (rawPath == null) { // a switch on null needs Java 21; a copy of this is compiled for 17
            return OTHER;
        }
        return switch (rawPath) {
            case "/uppercase" -> UPPERCASE;
            case "/count" -> COUNT;
            case "/work" -> WORK;
            default -> OTHER;
        };
    }
}
