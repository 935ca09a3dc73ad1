// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

/** Integers as they were written, of any number of digits. */
final class Digits {

    private Digits() {
    }

    /** Whether a text is decimal digits without sign and without leading zeros. */
    static boolean areCanonical(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) < '0' || text.charAt(i) > '9') {
                return false;
            }
        }
        return text.length() == 1 || text.length() > 1 && text.charAt(0) != '0';
    }

    /** Whether an integer that JSON allows is above 0. */
    static boolean isPositive(String integer) {
        return integer.charAt(0) != '-' && !integer.equals("0");
    }

    /** Whether an integer without sign and leading zeros is at most {@code largest}. */
    static boolean fit(String integer, int largest) {
        return integer.length() <= 10 && Long.parseLong(integer) <= largest;
    }
}
