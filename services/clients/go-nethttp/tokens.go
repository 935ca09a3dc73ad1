// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

var errShape = errors.New("another shape")

// tokens reads one answer of the upstream. jsontext is strict by default: it refuses invalid UTF-8, lone surrogates
// and keys that come twice.
type tokens struct {
	body    bytes.Buffer
	decoder jsontext.Decoder
}

func (t *tokens) ask(ctx context.Context, u *upstream, path string, id int, read func() error) error {
	if _, err := u.get(ctx, path, id, &t.body); err != nil {
		return err
	}
	t.decoder.Reset(&t.body) // parses in place, without a copy
	err := read()
	if err == nil {
		if _, more := t.decoder.ReadToken(); more != io.EOF {
			err = errShape
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errUpstreamBadAnswer, path, err)
	}
	return nil
}

// begin reads the token that an array or an object begins with.
func (t *tokens) begin(kind jsontext.Kind) error {
	if t.decoder.PeekKind() != kind {
		return errShape
	}
	_, err := t.decoder.ReadToken()
	return err
}

// key returns the next key of an object, unescaped and valid until the next read; nil at the object's end.
func (t *tokens) key() ([]byte, error) {
	if t.decoder.PeekKind() == '}' {
		_, err := t.decoder.ReadToken()
		return nil, err
	}
	if t.decoder.PeekKind() != '"' {
		return nil, errShape
	}
	quoted, err := t.decoder.ReadValue()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	return jsontext.AppendUnquote(nil, quoted)
}

// text appends the next value, which has to be a string.
func (t *tokens) text(dst []byte) ([]byte, error) {
	if t.decoder.PeekKind() != '"' {
		return dst, errShape
	}
	quoted, err := t.decoder.ReadValue()
	if err != nil {
		return dst, err
	}
	return jsontext.AppendUnquote(dst, quoted)
}

// integer reads the next value, which has to be a whole number of 32 bits.
func (t *tokens) integer() (int32, error) {
	if t.decoder.PeekKind() != '0' { // the kind of every number
		return 0, errShape
	}
	digits, err := t.decoder.ReadValue()
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseInt(string(digits), 10, 32) // fails for fractions and exponents, too
	return int32(number), err
}

// phone is a Phone of which nothing is missing.
type phone struct{ ddd, number int32 }

type phonesReader struct {
	tokens
	found []phone
}

func (p *phonesReader) ask(ctx context.Context, u *upstream, id int) error {
	return p.tokens.ask(ctx, u, "/phones/", id, p.read)
}

func (p *phonesReader) read() error {
	p.found = p.found[:0]
	if err := p.begin('['); err != nil {
		return err
	}
	for p.decoder.PeekKind() != ']' {
		one, err := p.phone()
		if err != nil {
			return err
		}
		p.found = append(p.found, one)
	}
	_, err := p.decoder.ReadToken()
	return err
}

func (p *phonesReader) phone() (phone, error) {
	var one phone
	if err := p.begin('{'); err != nil {
		return one, err
	}
	for hasDDD, hasNumber := false, false; ; {
		key, err := p.key()
		switch {
		case err != nil:
			return one, err
		case key == nil && hasDDD && hasNumber:
			return one, nil
		case key == nil:
			return one, errShape
		case string(key) == "ddd":
			one.ddd, err = p.integer()
			hasDDD = true
		case string(key) == "number":
			one.number, err = p.integer()
			hasNumber = true
		default:
			err = p.decoder.SkipValue()
		}
		if err != nil {
			return one, err
		}
	}
}

type addressReader struct {
	tokens
	street, state, country []byte
	number                 int32
}

func (a *addressReader) ask(ctx context.Context, u *upstream, id int) error {
	return a.tokens.ask(ctx, u, "/address/", id, a.read)
}

func (a *addressReader) read() error {
	if err := a.begin('{'); err != nil {
		return err
	}
	const all = 4
	for found := 0; ; { // no key comes twice
		key, err := a.key()
		switch {
		case err != nil:
			return err
		case key == nil && found == all:
			return nil
		case key == nil:
			return errShape
		case string(key) == "street":
			a.street, err = a.text(a.street[:0])
			found++
		case string(key) == "number":
			a.number, err = a.integer()
			found++
		case string(key) == "state":
			a.state, err = a.text(a.state[:0])
			found++
		case string(key) == "country":
			a.country, err = a.text(a.country[:0])
			found++
		default:
			err = a.decoder.SkipValue()
		}
		if err != nil {
			return err
		}
	}
}
