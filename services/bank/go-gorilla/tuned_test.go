// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// inEachCraft runs a test of the matched face with the flag of each craft.
func inEachCraft(t *testing.T, test func(t *testing.T, craft string)) {
	t.Helper()
	for _, craft := range []string{"--craft=idiomatic", "--craft=tuned"} {
		t.Run(craft, func(t *testing.T) { test(t, craft) })
	}
}

// What both crafts refuse, beside the cases of the contract.
var hardToRead = []string{
	``, ` `, `null`, `[]`, `1`, `{`, `{}`, `{}{}`, `{"amount"}`, `{1:2}`, `{[]:1}`, `{"amount":1,}`, `{,}`, "\ufeff{}",
	`{"amount":1,"amount":1}`, `{"amount":1,"a\u006dount":1}`, `{"a\u006dount":1}`, `{"x":"\ud800"}`, `{"\ud800":1}`, "{\"x\":\"\xff\"}",
	`{"id":{"a":[1]},"from_client_id":1,"to_client_id":2,"amount":3} x`, `{"from_client_id":-0,"to_client_id":2,"amount":3}`,
	`{"from_client_id":1.0,"to_client_id":2,"amount":3,"x":1}`, `{"from_client_id":1e1,"to_client_id":2,"amount":3}`,
	`{"from_client_id":null,"to_client_id":2,"amount":3}`, `{"from_client_id":1,"to_client_id":2,"amount":3,"x":[[]]}`,
	`{"from_client_id":` + strings.Repeat("9", 40) + `,"to_client_id":` + strings.Repeat("9", 40) + `,"amount":1}`,
	`{"from_client_id":` + strings.Repeat("9", 40) + `,"to_client_id":` + strings.Repeat("8", 40) + `,"amount":1}`,
	`{"from_client_id":1,"to_client_id":2,"amount":` + strings.Repeat("9", 40) + `}`,
	strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 65) + strings.Repeat("]", 65),
	`{"id":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, `{"id":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`,
}

func TestBothCraftsReadATransferAlikeAndOneReaderReadsThemAll(t *testing.T) {
	bodies := append([]string{
		`{"from_client_id":1,"to_client_id":2147483647,"amount":1000000000}`,
		` {"amount" : 1000000000, "id":[{"x":null}], "to_client_id":2147483647, "from_client_id":1} `,
		`{"from_client_id":1,"to\u005fclient_id":2,"amount":3}`,
	}, hardToRead...)
	for _, one := range contractCases(t, "matched") {
		if one.Request.Path == "/transaction" && !strings.Contains(one.Request.Body, "${") {
			bodies = append(bodies, string(one.body(t, nil)))
		}
	}
	var reader transferReader
	for range 2 { // the second time with what the first has left
		for _, body := range bodies {
			want, wantErr := readTransfer([]byte(body))
			if got, err := reader.read(bytes.NewBufferString(body)); got != want || err != wantErr {
				t.Errorf("%.60q: %+v, %v, not %+v, %v", body, got, err, want, wantErr)
			}
		}
	}
}

func TestATunedBodyThatBreaksOffIsInvalid(t *testing.T) {
	broken := io.MultiReader(strings.NewReader(`{"amount":1}`), iotest.ErrReader(errors.New("connection reset")))
	x := exchange{in: countingBody{ReadCloser: io.NopCloser(broken)}}
	if err := x.readBody(httptest.NewRecorder()); err != errInvalidJSON {
		t.Errorf("%v, not %v", err, errInvalidJSON)
	}
}

func TestATunedTransferIsReadWithoutAllocating(t *testing.T) {
	var reader transferReader
	text := []byte(`{"from_client_id":1,"to_client_id":2,"amount":3}`)
	var body bytes.Buffer
	read := func() {
		body.Reset()
		body.Write(text)
		if _, err := reader.read(&body); err != nil {
			t.Fatal(err)
		}
	}
	if allocations := testing.AllocsPerRun(100, read); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestAnAnswerOfATunedServiceHasTheHeadersOfAnIdiomaticOne(t *testing.T) {
	nowhere(t)
	var headers []http.Header
	inEachCraft(t, func(t *testing.T, craft string) {
		response, _ := raw(t, newService(t, craft), "GET /client/0/balance HTTP/1.1\r\nHost: x\r\n\r\n")
		response.Header.Del("Date")
		headers = append(headers, response.Header)
	})
	if len(headers[0]) != 2 || len(headers[1]) != 2 || headers[0].Get("Content-Length") != headers[1].Get("Content-Length") ||
		headers[0].Get("Content-Type") != headers[1].Get("Content-Type") {
		t.Errorf("%v and %v", headers[0], headers[1])
	}
}
