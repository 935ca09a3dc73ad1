// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// answerReader reads what the upstream answered, without reflection. jsontext is strict by default:
// it refuses invalid UTF-8, lone surrogates and keys that come twice. Shapes are checked here.
type answerReader struct {
	body    bytes.Buffer
	decoder jsontext.Decoder
	key     []byte // an unescaped key, when it was written with escapes
}

// phones appends all phones of the body to dst.
func (q *answerReader) phones(dst []Phone) ([]Phone, error) {
	q.decoder.Reset(&q.body) // parses in place, without a copy
	if err := q.enter('['); err != nil {
		return dst, err
	}
	for q.decoder.PeekKind() != ']' {
		phone, err := q.phone()
		if err != nil {
			return dst, err
		}
		dst = append(dst, phone)
	}
	return dst, q.leaveText()
}

func (q *answerReader) phone() (Phone, error) {
	var phone Phone
	missing := 2
	if err := q.enter('{'); err != nil {
		return phone, err
	}
	for q.decoder.PeekKind() != '}' {
		key, err := q.readKey()
		if err != nil {
			return phone, err
		}
		switch string(key) {
		case "ddd":
			missing--
			phone.DDD, err = q.readInt()
		case "number":
			missing--
			phone.Number, err = q.readInt()
		default:
			err = q.decoder.SkipValue()
		}
		if err != nil {
			return phone, err
		}
	}
	if missing > 0 { // no key comes twice
		return phone, errors.New("ddd or number is missing")
	}
	_, err := q.decoder.ReadToken()
	return phone, err
}

// address reads the whole body into address.
func (q *answerReader) address(address *Address) error {
	q.decoder.Reset(&q.body)
	missing := 4
	if err := q.enter('{'); err != nil {
		return err
	}
	for q.decoder.PeekKind() != '}' {
		key, err := q.readKey()
		if err != nil {
			return err
		}
		missing--
		switch string(key) {
		case "street":
			address.Street, err = q.readText()
		case "number":
			address.Number, err = q.readInt()
		case "state":
			address.State, err = q.readText()
		case "country":
			address.Country, err = q.readText()
		default:
			missing++
			err = q.decoder.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	if missing > 0 {
		return errors.New("street, number, state or country is missing")
	}
	return q.leaveText()
}

// enter reads the beginning of an array or an object.
func (q *answerReader) enter(kind jsontext.Kind) error {
	token, err := q.decoder.ReadToken()
	if err == nil && token.Kind() != kind {
		err = fmt.Errorf("%v where %v was expected", token.Kind(), kind)
	}
	return err
}

// leaveText reads the end of the outermost array or object, and that nothing follows.
func (q *answerReader) leaveText() error {
	if _, err := q.decoder.ReadToken(); err != nil {
		return err
	}
	if _, err := q.decoder.ReadToken(); err != io.EOF {
		return errors.New("something follows the JSON text")
	}
	return nil
}

// readKey returns the unescaped key; it is valid until the next read.
func (q *answerReader) readKey() ([]byte, error) {
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

func (q *answerReader) readInt() (int32, error) {
	number, err := q.decoder.ReadValue()
	if err != nil {
		return 0, err
	}
	value, err := strconv.ParseInt(string(number), 10, 32) // refuses quotes, null, fractions and exponents
	return int32(value), err
}

func (q *answerReader) readText() (string, error) {
	token, err := q.decoder.ReadToken()
	if err != nil {
		return "", err
	}
	if token.Kind() != '"' {
		return "", fmt.Errorf("%v where a string was expected", token.Kind())
	}
	return token.String(), nil
}
