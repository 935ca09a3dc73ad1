// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

final class StringsTest {

    @Test
    void case_is_mapped_one_code_point_to_one() {
        assertEquals("STRAßE ŸΜ \ud801\udc00", Strings.upper("straße ÿµ \ud801\udc28"));
        assertEquals("σίσυφοσ i", Strings.lower("ΣΊΣΥΦΟΣ İ"));
        assertEquals("HELLO", Strings.upper("hello"));
    }

    @Test
    void every_code_point_agrees_with_the_simple_mapping() {
        for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
            if (c < Character.MIN_SURROGATE || c > Character.MAX_SURROGATE) {
                String s = Character.toString(c);
                assertEquals(Character.toString(Character.toUpperCase(c)), Strings.upper(s));
                assertEquals(Character.toString(Character.toLowerCase(c)), Strings.lower(s));
            }
        }
    }

    @Test
    void a_pair_of_surrogates_counts_once_and_is_reversed_as_one() {
        assertEquals(3, Strings.count("a\ud83d\ude00b"));
        assertEquals("b\ud83d\ude00a", Strings.reversed("a\ud83d\ude00b"));
    }

    @Test
    void the_score_chains_as_many_checksums_as_the_factor_says() {
        assertEquals(0x352441c2, Strings.work("abc", 0).crc32());
        assertEquals(0x352441c2, Strings.work("abc", 0).score());
        assertEquals((int) 2_618_150_935L, Strings.work("abc", 1).score());
        assertEquals((int) 2_763_850_869L, Strings.work("abc", 1_000).score());
    }
}
