// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// What is refused and why is in ../contract/cases.jsonl; here is what a case cannot say.

func TestATransferIsReadFromAnyOrderOfKeys(t *testing.T) {
	for _, body := range []string{
		`{"from_client_id":1,"to_client_id":2147483647,"amount":1000000000}`,
		` {"amount" : 1000000000, "id":[{"x":null}], "to_client_id":2147483647, "from_client_id":1} `,
	} {
		got, err := readTransfer([]byte(body))
		if want := (transfer{from: 1, to: 2147483647, amount: 1_000_000_000}); err != nil || got != want {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

func TestBodyThatBreaksOffIsInvalid(t *testing.T) {
	broken := io.MultiReader(strings.NewReader(`{"amount":1}`), iotest.ErrReader(errors.New("connection reset")))
	request := httptest.NewRequest(http.MethodPost, "/transaction", broken)
	if _, err := readBody(httptest.NewRecorder(), request); err != errInvalidJSON {
		t.Errorf("%v, not %v", err, errInvalidJSON)
	}
}

func TestOneTextIsOneAndNotDeep(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, ` [1] `: true, `null`: true, ``: false, ` `: false, `{}{}`: false, `1 2`: false, `{"a":1,"a":2}`: false, "\"\xff\"": false, `"\ud800"`: false,
		strings.Repeat("[", 64) + strings.Repeat("]", 64): true, strings.Repeat("[", 65) + strings.Repeat("]", 65): false, "\ufeff{}": false,
	} {
		if got := oneText([]byte(text)); got != want {
			t.Errorf("%.40q: %v", text, got)
		}
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
