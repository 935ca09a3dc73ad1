// SPDX-License-Identifier: Apache-2.0

package main

import (
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"unicode"
)

func TestConversionsFollowTheSimpleMappingOfEachCodePoint(t *testing.T) {
	for _, c := range []struct{ text, upper, lower, reversed string }{
		{"Hello", "HELLO", "hello", "olleH"},
		{"straße", "STRAßE", "straße", "eßarts"},
		{"ΣΊΣΥΦΟΣ", "ΣΊΣΥΦΟΣ", "σίσυφοσ", "ΣΟΦΥΣΊΣ"},
		{"İıſ", "İIS", "iıſ", "ſıİ"},
		{"ᾳ", "ᾼ", "ᾳ", "ᾳ"},
		{"a😀𐐨", "A😀𐐀", "a😀𐐨", "𐐨😀a"},
		{"\x00\ufffd\U0010ffff", "\x00\ufffd\U0010ffff", "\x00\ufffd\U0010ffff", "\U0010ffff\ufffd\x00"},
		{"", "", "", ""},
	} {
		if got := string(Upper(nil, []byte(c.text))); got != c.upper {
			t.Errorf("Upper(%q) = %q, not %q", c.text, got, c.upper)
		}
		if got := string(Lower(nil, []byte(c.text))); got != c.lower {
			t.Errorf("Lower(%q) = %q, not %q", c.text, got, c.lower)
		}
		if got := string(Reverse(nil, []byte(c.text))); got != c.reversed {
			t.Errorf("Reverse(%q) = %q, not %q", c.text, got, c.reversed)
		}
	}
}

func TestConversionsAgreeWithTheObviousOnesForAnyText(t *testing.T) {
	agree := func(text string) bool {
		text = strings.ToValidUTF8(text, "")
		runes := []rune(text)
		slices.Reverse(runes)
		return string(Upper(nil, []byte(text))) == strings.Map(unicode.ToUpper, text) &&
			string(Lower(nil, []byte(text))) == strings.Map(unicode.ToLower, text) &&
			string(Reverse(nil, []byte(text))) == string(runes) &&
			Count([]byte(text)) == len(runes)
	}
	if err := quick.Check(agree, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
}

func TestConversionsAppend(t *testing.T) {
	text := []byte("b")
	if got := string(Reverse(Lower(Upper([]byte("a"), text), text), text)); got != "aBbb" {
		t.Errorf("got %q", got)
	}
}

func TestScoreIsAChainOfChecksums(t *testing.T) {
	chain := func(factor int) uint32 {
		h := crc32.ChecksumIEEE([]byte("aBc"))
		for range factor {
			h = crc32.ChecksumIEEE(append([]byte{byte(h >> 24), byte(h >> 16), byte(h >> 8), byte(h)}, "ABCabccBa"...))
		}
		return h
	}
	var buf []byte
	for _, factor := range []int{0, 1, 10, 1000} {
		var done Worked
		done, buf = Work(buf, []byte("aBc"), factor)
		if done.Score != chain(factor) {
			t.Errorf("factor %d: score %d, not %d", factor, done.Score, chain(factor))
		}
	}
}

func TestWorkNeedsNoMemoryOnceItsBufferHasGrown(t *testing.T) {
	text, buf := []byte(strings.Repeat("xß😀", 100)), []byte(nil)
	if n := testing.AllocsPerRun(50, func() { _, buf = Work(buf, text, 10) }); n > 0 {
		t.Errorf("%v allocations a call", n)
	}
}
