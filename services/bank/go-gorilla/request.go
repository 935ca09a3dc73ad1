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
	for _, field := range []jsontext.Value{fields.From, fields.To, fields.Amount} {
		if len(field) > 0 && !isInteger(field) {
			return transfer{}, errWrongType
		}
	}
	return judged(len(fields.Unknown) > 0, fields.From, fields.To, fields.Amount)
}

// isInteger tells whether a JSON value is a number without fraction and exponent.
func isInteger(value jsontext.Value) bool {
	return value.Kind() == '0' && !bytes.ContainsAny(value, ".eE") // the kind of every number
}

// judged looks for each kind of mistake among the integers of a transfer before it looks for the next. They come as
// they were written; an empty one is a field that is not there.
func judged(unknownField bool, fromText, toText, amountText []byte) (transfer, error) {
	from, to, amount := number(fromText), number(toText), number(amountText)
	switch {
	case unknownField:
		return transfer{}, errUnknownField
	case len(fromText) == 0 || len(toText) == 0 || len(amountText) == 0:
		return transfer{}, errMissingField
	case from <= 0 || to <= 0:
		return transfer{}, errBadID
	case amount <= 0 || amount > maxAmount:
		return transfer{}, errBadAmount
	case bytes.Equal(fromText, toText): // the same text is the same number, beyond 64 bits too
		return transfer{}, errSameClient
	case from > maxID || to > maxID:
		return transfer{}, errUnknownClient
	}
	return transfer{int32(from), int32(to), int32(amount)}, nil
}

// number returns what an integer says; beyond 64 bits it is the end of their range.
func number(text []byte) int64 {
	value, _ := strconv.ParseInt(string(text), 10, 64)
	return value
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
