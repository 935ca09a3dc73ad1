// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
)

// What is refused and why is in ../contract/cases.jsonl; here is what a case cannot say.

func TestReaderIsAsGoodAsNewAfterEachRequest(t *testing.T) {
	var reader requestReader
	for _, c := range []struct {
		body             string
		want             error
		from, to, amount int64
	}{
		{`{"from_client_id":1,"to_client_id":2,"amount":3}`, nil, 1, 2, 3},
		{`{"from_client_id":4,"to_client_id":`, errInvalidJSON, 0, 0, 0},
		{`{"from_client_id":4,"to_client_id":5}`, errMissingField, 0, 0, 0},
		{`{"x":[[[{`, errInvalidJSON, 0, 0, 0},
		{`{}`, errMissingField, 0, 0, 0},
		{`{"amount":null}`, errWrongType, 0, 0, 0},
		{strings.Repeat(" ", maxBodyBytes+1), errBodyTooLarge, 0, 0, 0},
		{`{"amount":1000000000,"to_client_id":2147483647,"from_client_id":7,"id":[{}]}`, nil, 7, 2147483647, 1000000000},
	} {
		err := reader.readTransfer(strings.NewReader(c.body))
		if err != c.want && !(err == nil && c.want == nil) {
			t.Errorf("%.40s: %v, not %v", c.body, err, c.want)
		}
		if err == nil && (reader.from.value != c.from || reader.to.value != c.to || reader.amount.value != c.amount) {
			t.Errorf("%.40s: read %d, %d, %d", c.body, reader.from.value, reader.to.value, reader.amount.value)
		}
		if reader.bytesRead != int64(len(c.body)) {
			t.Errorf("%.40s: %d bytes counted, not %d", c.body, reader.bytesRead, len(c.body))
		}
	}
}

func TestBodyMayArriveByteByByte(t *testing.T) {
	var reader requestReader
	body := `{"from_client_id":1,"to_client_id":2,"\u0061mount":3}`
	if err := reader.readTransfer(iotest.OneByteReader(strings.NewReader(body))); err != nil || reader.amount.value != 3 {
		t.Errorf("read %d, %v", reader.amount.value, err)
	}
}

func TestBodyThatBreaksOffIsInvalid(t *testing.T) {
	var reader requestReader
	whole := strings.NewReader(`{"from_client_id":1,"to_client_id":2,"amount":3}`)
	broken := io.MultiReader(whole, iotest.ErrReader(errors.New("connection reset")))
	if err := reader.readTransfer(broken); err != errInvalidJSON {
		t.Errorf("%v, not %v", err, errInvalidJSON)
	}
}

func TestReadingNeedsNoMemoryOnceBuffersHaveGrown(t *testing.T) {
	var reader requestReader
	body := []byte(`{"id":2,"from_client_id":1,"to_client_id":2,"\u0061mount":3}`)
	source := bytes.NewReader(nil)
	read := func() {
		source.Reset(body)
		if err := reader.readTransfer(source); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(50, read); n > 0 {
		t.Errorf("%v allocations a request", n)
	}
}

func TestPathNumbersAreDigitsWithoutSignAndLeadingZeros(t *testing.T) {
	for segment, want := range map[string]int64{
		"0": 0, "1": 1, "1000000001": 1_000_000_001, "9223372036854775807": math.MaxInt64, strings.Repeat("9", 400): math.MaxInt64,
	} {
		if got, ok := digits(segment); !ok || got != want {
			t.Errorf("%.30s: %d, %v", segment, got, ok)
		}
	}
	for _, segment := range []string{"", "00", "01", "-1", "+1", "1.0", "1e3", "x", "1x", " 1", "1_0", "٣"} {
		if got, ok := digits(segment); ok {
			t.Errorf("%q was read as %d", segment, got)
		}
	}
}
