// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.function.IntUnaryOperator;
import java.util.zip.CRC32;

/** What the service computes; knows nothing of HTTP or JSON. Strings hold no lone surrogates: {@link Json} refuses them. */
final class Strings {

    /** Everything {@code /work} answers; {@code crc32} and {@code score} are unsigned 32-bit numbers. */
    record Work(String upper, String lower, String reversed, int crc32, int factor, int score) {
    }

    private Strings() {
    }

    static String upper(String s) {
        // In ASCII the full and the simple case mapping agree, and the JDK's own loop is the fastest there is.
        return isAscii(s) ? s.toUpperCase(Locale.ROOT) : mapCodePoints(s, Character::toUpperCase);
    }

    static String lower(String s) {
        return isAscii(s) ? s.toLowerCase(Locale.ROOT) : mapCodePoints(s, Character::toLowerCase);
    }

    static int count(String s) {
        return s.codePointCount(0, s.length());
    }

    static String reversed(String s) {
        return new StringBuilder(s).reverse().toString(); // keeps surrogate pairs together
    }

    static Work work(String s, int factor) {
        String upper = upper(s);
        String lower = lower(s);
        String reversed = reversed(s);
        CRC32 crc = new CRC32();
        crc.update(s.getBytes(StandardCharsets.UTF_8));
        int checksum = (int) crc.getValue();

        byte[] block = (upper + lower + reversed).getBytes(StandardCharsets.UTF_8);
        byte[] previous = new byte[Integer.BYTES];
        int score = checksum;
        for (int round = 0; round < factor; round++) {
            previous[0] = (byte) (score >>> 24);
            previous[1] = (byte) (score >>> 16);
            previous[2] = (byte) (score >>> 8);
            previous[3] = (byte) score;
            crc.reset();
            crc.update(previous);
            crc.update(block);
            score = (int) crc.getValue();
        }
        return new Work(upper, lower, reversed, checksum, factor, score);
    }

    private static boolean isAscii(String s) {
        for (int i = 0; i < s.length(); i++) {
            if (s.charAt(i) >= 0x80) {
                return false;
            }
        }
        return true;
    }

    private static String mapCodePoints(String s, IntUnaryOperator mapping) {
        StringBuilder mapped = new StringBuilder(s.length());
        for (int i = 0; i < s.length(); ) {
            int codePoint = s.codePointAt(i);
            mapped.appendCodePoint(mapping.applyAsInt(codePoint));
            i += Character.charCount(codePoint);
        }
        return mapped.toString();
    }
}
