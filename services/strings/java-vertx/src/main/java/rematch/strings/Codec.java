// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import rematch.strings.Refusal.Refused;

/** JSON in and out: the same bytes in either craft. */
interface Codec {

    /** What a request asks for. */
    record Input(String s, int factor) {
    }

    static Codec of(Settings.Craft craft) {
        return switch (craft) {
            case TUNED -> new Json();
            case IDIOMATIC -> new Binding();
        };
    }

    /** Reads {@code {"s":...}}, with {@code "factor"} beside it where {@code takesFactor}. */
    Input read(byte[] body, boolean takesFactor) throws Refused;

    byte[] uppercase(String v);

    byte[] count(int v);

    byte[] work(Strings.Work work);
}
