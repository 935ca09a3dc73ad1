// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

/** Writes one line for one request. Public, because a logger of {@code target/loggers} has a class loader of its own. */
@FunctionalInterface
public interface RequestLogger {

    int LONGEST_METHOD = 32;

    /** Never fails: a line that cannot be written is lost, and the request is answered. */
    void request(String method, String path, int status, long bytesIn, int bytesOut, long tookNs);

    /** A method is whatever the peer wrote: kept short, and in one word. */
    static String oneWord(String method) {
        if (method.length() > LONGEST_METHOD) {
            return "?";
        }
        for (int i = 0; i < method.length(); i++) {
            if (method.charAt(i) <= ' ' || method.charAt(i) > '~') {
                return "?";
            }
        }
        return method;
    }

    /** Writes out what is still held back. */
    default void close() {
    }
}
