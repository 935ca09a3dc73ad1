// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// What is refused and why is in ../contract/cases.jsonl; here is what a case cannot say.

func TestReaderIsAsGoodAsNewAfterEachRequest(t *testing.T) {
	var reader requestReader
	for _, c := range []struct {
		body   string
		want   error
		text   string
		factor int
	}{
		{`{"s":"first","factor":7}`, nil, "first", 7},
		{`{"s":"x","factor":`, errInvalidJSON, "", 0},
		{`{"s":"second"}`, nil, "second", defaultFactor},
		{`{"x":[[[{`, errInvalidJSON, "", 0},
		{`{}`, errMissingField, "", 0},
		{`{"s":1}`, errWrongType, "", 0},
		{strings.Repeat(" ", maxBodyBytes+1), errBodyTooLarge, "", 0},
		{`{"s":"third","factor":1001}`, errOutOfRange, "", 0},
		{`{"s":"fourth","factor":0}`, nil, "fourth", 0},
	} {
		err := reader.read(strings.NewReader(c.body), true)
		if err != c.want {
			t.Errorf("%.40s: %v, not %v", c.body, err, c.want)
		}
		if err == nil && (string(reader.text) != c.text || reader.factor != c.factor) {
			t.Errorf("%.40s: read %q and %d", c.body, reader.text, reader.factor)
		}
		if reader.bytesRead != int64(len(c.body)) {
			t.Errorf("%.40s: %d bytes counted, not %d", c.body, reader.bytesRead, len(c.body))
		}
	}
}

func TestBodyMayArriveByteByByte(t *testing.T) {
	var reader requestReader
	body := `{"s":"\ud83d\ude00 ß"}`
	if err := reader.read(iotest.OneByteReader(strings.NewReader(body)), false); err != nil || string(reader.text) != "😀 ß" {
		t.Errorf("read %q, %v", reader.text, err)
	}
}

func TestBodyThatBreaksOffIsInvalid(t *testing.T) {
	var reader requestReader
	whole := strings.NewReader(`{"s":"hello"}`)
	broken := io.MultiReader(whole, iotest.ErrReader(errors.New("connection reset")))
	if err := reader.read(broken, false); err != errInvalidJSON {
		t.Errorf("%v, not %v", err, errInvalidJSON)
	}
}

func TestReadingNeedsNoMemoryOnceBuffersHaveGrown(t *testing.T) {
	var reader requestReader
	body := []byte(`{"factor":12,"s":"caf\u00e9 ` + strings.Repeat("x", 2048) + `"}`)
	source := bytes.NewReader(nil)
	read := func() {
		source.Reset(body)
		if err := reader.read(source, true); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(50, read); n > 0 {
		t.Errorf("%v allocations a request", n)
	}
}
