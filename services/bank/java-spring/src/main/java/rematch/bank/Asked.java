// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

/** What a path asks for, by the contract's rules; both crafts of the matched face read it here. */
final class Asked {

    private static final int LARGEST_BALANCE = 1_000_000_000;

    private Asked() {
    }

    /** The balance that a client is opened with. */
    static int balance(String segment) {
        if (!Digits.areCanonical(segment) || !Digits.fit(segment, LARGEST_BALANCE)) {
            throw new Refused(Refusal.BAD_BALANCE);
        }
        return Integer.parseInt(segment);
    }

    /** The id of a client that may exist. */
    static int client(String segment) {
        if (!Digits.areCanonical(segment) || !Digits.isPositive(segment)) {
            throw new Refused(Refusal.BAD_ID);
        }
        if (!Digits.fit(segment, Integer.MAX_VALUE)) {
            throw new Refused(Refusal.UNKNOWN_CLIENT);
        }
        return Integer.parseInt(segment);
    }
}
