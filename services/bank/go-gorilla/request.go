// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxBodyBytes = 65_536
	maxDepth     = 64
	maxAmount    = 1_000_000_000
	maxID        = math.MaxInt32
)

// number is an integer of any number of digits.
type number struct {
	text  []byte // as written; of two positive integers the same text is the same number
	value int64  // the nearest there is
	found bool
}

// requestReader reads a body, and a transfer out of it, without reflection and, once its buffers
// have grown, without allocating. jsontext is strict by default: it refuses invalid UTF-8, lone
// surrogates and keys that come twice. The nesting limit and the single text are added here.
type requestReader struct {
	body    bytes.Buffer
	limited io.LimitedReader
	decoder jsontext.Decoder
	key     []byte // an unescaped key, when it was written with escapes

	from, to, amount number

	bytesRead int64

	wrongType, unknownField bool
}

// readBody reads to the end of the body, and no further than the limit.
func (q *requestReader) readBody(body io.Reader) error {
	q.body.Reset()
	q.limited.R, q.limited.N = body, maxBodyBytes+1
	read, err := q.body.ReadFrom(&q.limited)
	q.bytesRead, q.limited.R = read, nil
	if q.body.Len() > maxBodyBytes {
		return errBodyTooLarge
	}
	if err != nil { // the client went away or broke its chunked encoding: there is no whole body
		return errInvalidJSON
	}
	return nil
}

// readTransfer fills from, to and amount from one body. It reads all of it before it judges
// anything but the size.
func (q *requestReader) readTransfer(body io.Reader) error {
	if err := q.readBody(body); err != nil {
		return err
	}
	if err := q.parse(); err != nil {
		return err
	}
	switch {
	case q.wrongType:
		return errWrongType
	case q.unknownField:
		return errUnknownField
	case !q.from.found || !q.to.found || !q.amount.found:
		return errMissingField
	case q.from.value <= 0 || q.to.value <= 0:
		return errBadID
	case q.amount.value <= 0 || q.amount.value > maxAmount:
		return errBadAmount
	case bytes.Equal(q.from.text, q.to.text):
		return errSameClient
	case q.from.value > maxID || q.to.value > maxID:
		return errUnknownClient
	}
	return nil
}

func (q *requestReader) parse() error {
	for _, field := range []*number{&q.from, &q.to, &q.amount} {
		field.found = false
	}
	q.wrongType, q.unknownField = false, false
	q.decoder.Reset(&q.body) // parses in place, without a copy
	if q.decoder.PeekKind() == '{' {
		if err := q.object(); err != nil {
			return err
		}
	} else {
		q.wrongType = true
		if err := q.skip(); err != nil {
			return err
		}
	}
	if _, err := q.decoder.ReadToken(); err != io.EOF {
		return errInvalidJSON
	}
	return nil
}

func (q *requestReader) object() error {
	if _, err := q.decoder.ReadToken(); err != nil {
		return errInvalidJSON
	}
	for {
		switch q.decoder.PeekKind() {
		case '}':
			_, err := q.decoder.ReadToken()
			return err
		case '"':
		default:
			return errInvalidJSON
		}
		key, err := q.readKey()
		if err != nil {
			return err
		}
		switch string(key) {
		case "from_client_id":
			err = q.readNumber(&q.from)
		case "to_client_id":
			err = q.readNumber(&q.to)
		case "amount":
			err = q.readNumber(&q.amount)
		case "id":
			err = q.skip()
		default:
			q.unknownField = true
			err = q.skip()
		}
		if err != nil {
			return err
		}
	}
}

// readKey returns the unescaped key; it is valid until the next read.
func (q *requestReader) readKey() ([]byte, error) {
	quoted, err := q.decoder.ReadValue()
	if err != nil {
		return nil, errInvalidJSON
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	if q.key, err = jsontext.AppendUnquote(q.key[:0], quoted); err != nil {
		return nil, errInvalidJSON
	}
	return q.key, nil
}

func (q *requestReader) readNumber(into *number) error {
	into.found = true
	if q.decoder.PeekKind() != '0' { // the kind of every number
		q.wrongType = true
		return q.skip()
	}
	digits, err := q.decoder.ReadValue()
	if err != nil {
		return errInvalidJSON
	}
	if bytes.ContainsAny(digits, ".eE") {
		q.wrongType = true
		return nil
	}
	into.text = append(into.text[:0], digits...)
	into.value, _ = strconv.ParseInt(string(digits), 10, 64) // beyond 64 bits: the end of their range
	return nil
}

// skip reads one value of any type, no deeper than maxDepth.
func (q *requestReader) skip() error {
	outside := q.decoder.StackDepth()
	for {
		if _, err := q.decoder.ReadToken(); err != nil {
			return errInvalidJSON
		}
		switch depth := q.decoder.StackDepth(); {
		case depth > maxDepth:
			return errInvalidJSON
		case depth == outside:
			return nil
		}
	}
}

// digits returns the number that a path segment is, or false. More than 19 digits are as good as 19 nines.
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
