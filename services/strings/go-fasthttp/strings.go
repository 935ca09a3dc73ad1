// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"hash/crc32"
	"unicode"
	"unicode/utf8"
)

// Upper appends text to dst, each code point mapped to its simple upper case.
// text must be valid UTF-8, here and below.
func Upper(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text[i:])
			dst = utf8.AppendRune(dst, unicode.ToUpper(r))
			i += size
			continue
		}
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		dst = append(dst, c)
		i++
	}
	return dst
}

// Lower appends text to dst, each code point mapped to its simple lower case.
func Lower(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text[i:])
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
			i += size
			continue
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
		i++
	}
	return dst
}

// Reverse appends the code points of text to dst, last one first.
func Reverse(dst, text []byte) []byte {
	for end := len(text); end > 0; {
		size := 1
		if text[end-1] >= utf8.RuneSelf {
			_, size = utf8.DecodeLastRune(text[:end])
		}
		dst = append(dst, text[end-size:end]...)
		end -= size
	}
	return dst
}

// Count returns the number of code points.
func Count(text []byte) int {
	return utf8.RuneCount(text)
}

// Worked is what Work finds out about a text; its slices point into the buffer it was made in.
type Worked struct {
	Upper, Lower, Reversed []byte
	Checksum               uint32 // CRC-32 (IEEE) of the text
	Score                  uint32 // the checksum chained factor times over the three texts
}

// Work does the three conversions and then factor rounds of checksums.
// It works in buf, which it returns for the next call.
func Work(buf, text []byte, factor int) (Worked, []byte) {
	const seed = 4 // each round's checksum starts with the four bytes of the one before
	buf = append(buf[:0], 0, 0, 0, 0)
	buf = Upper(buf, text)
	upperEnd := len(buf)
	buf = Lower(buf, text)
	lowerEnd := len(buf)
	buf = Reverse(buf, text)

	done := Worked{
		Upper:    buf[seed:upperEnd],
		Lower:    buf[upperEnd:lowerEnd],
		Reversed: buf[lowerEnd:],
		Checksum: crc32.ChecksumIEEE(text),
	}
	done.Score = done.Checksum
	for range factor {
		binary.BigEndian.PutUint32(buf, done.Score)
		done.Score = crc32.ChecksumIEEE(buf)
	}
	return done, buf
}
