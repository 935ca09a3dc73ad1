// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxBodyBytes  = 65_536
	maxDepth      = 64
	maxFactor     = 1_000
	defaultFactor = 10
)

// The text of each error is its code in the answer.
var (
	errBodyTooLarge = errors.New("body_too_large")
	errInvalidJSON  = errors.New("invalid_json")
	errWrongType    = errors.New("wrong_type")
	errUnknownField = errors.New("unknown_field")
	errMissingField = errors.New("missing_field")
	errEmptyString  = errors.New("empty_string")
	errOutOfRange   = errors.New("out_of_range")
)

// requestReader reads {"s":...,"factor":...} without reflection and, once its buffers have grown,
// without allocating. jsontext is strict by default: it refuses invalid UTF-8, lone surrogates and
// keys that come twice. The nesting limit and the single text are added here.
type requestReader struct {
	body    bytes.Buffer
	limited io.LimitedReader
	decoder jsontext.Decoder
	key     []byte // an unescaped key, when it was written with escapes

	text   []byte // s, unescaped
	factor int

	bytesRead int64

	hasText, wrongType, unknownField, outOfRange bool
}

// read fills text and factor from one body. It reads to the end of the body before it judges
// anything but the size.
func (q *requestReader) read(body io.Reader, takesFactor bool) error {
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
	return q.parse(takesFactor)
}

func (q *requestReader) parse(takesFactor bool) error {
	q.text, q.factor = q.text[:0], defaultFactor
	q.hasText, q.wrongType, q.unknownField, q.outOfRange = false, false, false, false
	q.decoder.Reset(&q.body) // parses in place, without a copy

	if q.decoder.PeekKind() == '{' {
		if err := q.object(takesFactor); err != nil {
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
	switch {
	case q.wrongType:
		return errWrongType
	case q.unknownField:
		return errUnknownField
	case !q.hasText:
		return errMissingField
	case len(q.text) == 0:
		return errEmptyString
	case q.outOfRange:
		return errOutOfRange
	}
	return nil
}

func (q *requestReader) object(takesFactor bool) error {
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
		switch {
		case string(key) == "s":
			err = q.readText()
		case takesFactor && string(key) == "factor":
			err = q.readFactor()
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

func (q *requestReader) readText() error {
	if q.decoder.PeekKind() != '"' {
		q.wrongType = true
		return q.skip()
	}
	quoted, err := q.decoder.ReadValue()
	if err != nil {
		return errInvalidJSON
	}
	q.hasText = true
	if q.text, err = jsontext.AppendUnquote(q.text, quoted); err != nil {
		return errInvalidJSON
	}
	return nil
}

func (q *requestReader) readFactor() error {
	if q.decoder.PeekKind() != '0' { // the kind of every number
		q.wrongType = true
		return q.skip()
	}
	number, err := q.decoder.ReadValue()
	if err != nil {
		return errInvalidJSON
	}
	if bytes.ContainsAny(number, ".eE") {
		q.wrongType = true
		return nil
	}
	q.factor, err = strconv.Atoi(string(number)) // fails only when the integer is beyond 64 bits
	q.outOfRange = err != nil || q.factor < 0 || q.factor > maxFactor
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
