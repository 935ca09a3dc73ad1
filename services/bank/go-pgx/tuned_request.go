// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// transferReader reads a transfer in one pass over its tokens, without reflection and, once its buffers have grown,
// without allocating. It accepts and refuses what readTransfer does.
type transferReader struct {
	decoder jsontext.Decoder
	key     []byte // an unescaped key, when it was written with escapes

	from, to, amount []byte // as they were written; empty: not there

	wrongType, unknownField bool
}

// read reads to the end of the body before it judges anything.
func (q *transferReader) read(body *bytes.Buffer) (transfer, error) {
	q.from, q.to, q.amount = q.from[:0], q.to[:0], q.amount[:0]
	q.wrongType, q.unknownField = false, false
	q.decoder.Reset(body) // parses in place, without a copy

	if q.decoder.PeekKind() == '{' {
		if q.object() != nil {
			return transfer{}, errInvalidJSON
		}
	} else {
		q.wrongType = true
		if q.skip() != nil {
			return transfer{}, errInvalidJSON
		}
	}
	if _, err := q.decoder.ReadToken(); err != io.EOF {
		return transfer{}, errInvalidJSON
	}
	if q.wrongType {
		return transfer{}, errWrongType
	}
	return judged(q.unknownField, q.from, q.to, q.amount)
}

func (q *transferReader) object() error {
	if _, err := q.decoder.ReadToken(); err != nil {
		return err
	}
	for q.decoder.PeekKind() == '"' {
		key, err := q.readKey()
		if err != nil {
			return err
		}
		switch string(key) {
		case "from_client_id":
			q.from, err = q.integer(q.from)
		case "to_client_id":
			q.to, err = q.integer(q.to)
		case "amount":
			q.amount, err = q.integer(q.amount)
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
	if end, err := q.decoder.ReadToken(); err != nil || end.Kind() != '}' {
		return errInvalidJSON
	}
	return nil
}

// readKey returns the unescaped key; it is valid until the next read.
func (q *transferReader) readKey() ([]byte, error) {
	quoted, err := q.decoder.ReadValue()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	q.key, err = jsontext.AppendUnquote(q.key[:0], quoted)
	return q.key, err
}

// integer appends a number as it was written.
func (q *transferReader) integer(into []byte) ([]byte, error) {
	if q.decoder.PeekKind() != '0' { // the kind of every number
		q.wrongType = true
		return into, q.skip()
	}
	written, err := q.decoder.ReadValue()
	if !isInteger(written) {
		q.wrongType = true
	}
	return append(into, written...), err
}

// skip reads one value of any type, no deeper than maxDepth.
func (q *transferReader) skip() error {
	outside := q.decoder.StackDepth()
	for {
		if _, err := q.decoder.ReadToken(); err != nil {
			return err
		}
		switch depth := q.decoder.StackDepth(); {
		case depth > maxDepth:
			return errInvalidJSON
		case depth == outside:
			return nil
		}
	}
}
