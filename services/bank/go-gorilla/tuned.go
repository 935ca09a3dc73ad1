// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// The tuned craft: a body is read into a buffer that is used again, its tokens are read one by one, and an answer is
// appended to bytes that are used again. Statements, checks and refusals are those of the idiomatic craft.

// handlers make what answers the three routes, each for the observer that counts and logs its requests.
type handlers struct {
	create, transfer, balance func(*pathObserver) http.Handler
}

func (b bank) handlers(craft string) handlers {
	if craft == "tuned" {
		return handlers{tuned(b.tunedCreate), tuned(b.tunedTransfer), tuned(b.tunedBalance)}
	}
	return handlers{idiomatic(b.answerCreate), idiomatic(b.answerTransfer), idiomatic(b.answerBalance)}
}

func idiomatic(answer answer) func(*pathObserver) http.Handler {
	return func(o *pathObserver) http.Handler { return observed(o, answer) }
}

// exchange is what one request needs, kept for later ones.
type exchange struct {
	in       countingBody
	body     bytes.Buffer
	transfer transferReader
	out      []byte
	line     []byte
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

var jsonType = []string{"application/json"} // shared: net/http only reads it

// tunedAnswer appends what is sent with 200 to x.out, or says why not.
type tunedAnswer func(x *exchange, w http.ResponseWriter, r *http.Request) error

// tuned answers, counts and logs.
func tuned(answer tunedAnswer) func(*pathObserver) http.Handler {
	return func(o *pathObserver) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begin := time.Now()
			x := exchanges.Get().(*exchange)
			x.in, x.out = countingBody{ReadCloser: r.Body}, x.out[:0]
			status, body := http.StatusOK, []byte(nil)
			if err := answer(x, w, r); err == nil {
				body = x.out
			} else {
				status, body = encode(nil, err)
			}
			w.Header()["Content-Type"] = jsonType // net/http sets the length of a small answer itself
			w.WriteHeader(status)
			_, _ = w.Write(body)

			x.line = o.observe(observationOf(r, &x.in, begin, status, len(body)), x.line)
			x.in.ReadCloser = nil
			exchanges.Put(x)
		})
	}
}

// readBody reads to the end of the body, and no further than the limit.
func (x *exchange) readBody(w http.ResponseWriter) error {
	x.body.Reset()
	_, err := x.body.ReadFrom(http.MaxBytesReader(w, &x.in, maxBodyBytes))
	return bodyError(err)
}

func (b bank) tunedCreate(x *exchange, w http.ResponseWriter, r *http.Request) error {
	if err := x.readBody(w); err != nil {
		return err
	}
	balance, err := askedBalance(r)
	if err != nil {
		return err
	}
	id, err := b.create(r.Context(), balance)
	x.out = append(x.out, `{"id":`...)
	x.out = strconv.AppendInt(x.out, int64(id), 10)
	x.out = append(x.out, `,"name":"","email":"","phone":""}`...)
	return err
}

func (b bank) tunedTransfer(x *exchange, w http.ResponseWriter, r *http.Request) error {
	if err := x.readBody(w); err != nil {
		return err
	}
	wanted, err := x.transfer.read(&x.body)
	if err != nil {
		return err
	}
	id, err := b.transfer(r.Context(), wanted)
	x.out = append(x.out, `{"id":`...)
	x.out = strconv.AppendInt(x.out, int64(id), 10)
	x.out = append(x.out, `,"amount":`...)
	x.out = strconv.AppendInt(x.out, int64(wanted.amount), 10)
	x.out = append(x.out, `,"from_client_id":`...)
	x.out = strconv.AppendInt(x.out, int64(wanted.from), 10)
	x.out = append(x.out, `,"to_client_id":`...)
	x.out = strconv.AppendInt(x.out, int64(wanted.to), 10)
	x.out = append(x.out, '}')
	return err
}

func (b bank) tunedBalance(x *exchange, _ http.ResponseWriter, r *http.Request) error {
	id, err := askedClient(r)
	if err != nil {
		return err
	}
	balance, err := b.balance(r.Context(), id)
	x.out = append(x.out, `{"balance":`...)
	x.out = strconv.AppendInt(x.out, balance, 10)
	x.out = append(x.out, '}')
	return err
}
