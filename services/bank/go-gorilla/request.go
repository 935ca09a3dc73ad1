// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxBodyBytes = 65_536
	maxDepth     = 64
	maxAmount    = 1_000_000_000
	maxID        = math.MaxInt32
)

// transfer is one that may be tried: its numbers are in range.
type transfer struct {
	from, to, amount int32
}

// transferFields is the object that is sent; what is not there has no kind.
type transferFields struct {
	ID      jsontext.Value            `json:"id"` // ignored
	From    jsontext.Value            `json:"from_client_id"`
	To      jsontext.Value            `json:"to_client_id"`
	Amount  jsontext.Value            `json:"amount"`
	Unknown map[string]jsontext.Value `json:",embed"`
}

// readTransfer looks for each kind of mistake in the whole body before it looks for the next.
func readTransfer(body []byte) (transfer, error) {
	if !oneText(body) {
		return transfer{}, errInvalidJSON
	}
	var fields transferFields
	if err := json.Unmarshal(body, &fields); err != nil || jsontext.Value(body).Kind() != '{' { // `null` is no error to Unmarshal
		return transfer{}, errWrongType
	}
	numbers, missing := [3]int64{}, false
	for i, field := range []jsontext.Value{fields.From, fields.To, fields.Amount} {
		if len(field) == 0 {
			missing = true
			continue
		}
		if field.Kind() != '0' || bytes.ContainsAny(field, ".eE") { // the kind of every number
			return transfer{}, errWrongType
		}
		numbers[i], _ = strconv.ParseInt(string(field), 10, 64) // beyond 64 bits: the end of their range
	}
	from, to, amount := numbers[0], numbers[1], numbers[2]
	switch {
	case len(fields.Unknown) > 0:
		return transfer{}, errUnknownField
	case missing:
		return transfer{}, errMissingField
	case from <= 0 || to <= 0:
		return transfer{}, errBadID
	case amount <= 0 || amount > maxAmount:
		return transfer{}, errBadAmount
	case bytes.Equal(fields.From, fields.To): // the same text is the same number, beyond 64 bits too
		return transfer{}, errSameClient
	case from > maxID || to > maxID:
		return transfer{}, errUnknownClient
	}
	return transfer{int32(from), int32(to), int32(amount)}, nil
}

// oneText tells whether body is one JSON text of bearable depth and nothing else. jsontext is strict by
// default: it refuses invalid UTF-8, lone surrogates and keys that come twice.
func oneText(body []byte) bool {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(body))
	for texts := 0; ; {
		_, err := decoder.ReadToken()
		if err == io.EOF {
			return texts == 1
		}
		if err != nil || decoder.StackDepth() > maxDepth {
			return false
		}
		if decoder.StackDepth() == 0 {
			texts++
		}
	}
}

// digits returns the number that a path segment is, or false. More than 64 bits are as good as their largest.
func digits(segment string) (int64, bool) {
	if segment == "" || len(segment) > 1 && segment[0] == '0' {
		return 0, false
	}
	for i := range len(segment) {
		if segment[i] < '0' || segment[i] > '9' {
			return 0, false
		}
	}
	value, err := strconv.ParseInt(segment, 10, 64)
	if err != nil {
		value = math.MaxInt64
	}
	return value, true
}
