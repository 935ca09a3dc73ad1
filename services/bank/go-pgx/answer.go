// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

const healthUp = `{"status":"up"}`

type clientAnswer struct {
	ID    int32  `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
	Phone string `json:"phone"`
}

type transferAnswer struct {
	ID     int32 `json:"id"`
	Amount int32 `json:"amount"`
	From   int32 `json:"from_client_id"`
	To     int32 `json:"to_client_id"`
}

type balanceAnswer struct {
	Balance int64 `json:"balance"`
}

// refusal is an answer other than 200, as an error.
type refusal struct {
	status int
	code   string
}

func (r refusal) Error() string { return r.code }
func (r refusal) body() []byte  { return []byte(`{"error":"` + r.code + `"}`) }

var (
	errNotFound            = refusal{http.StatusNotFound, "not_found"}
	errMethodNotAllowed    = refusal{http.StatusMethodNotAllowed, "method_not_allowed"}
	errBodyTooLarge        = refusal{http.StatusRequestEntityTooLarge, "body_too_large"}
	errBadBalance          = refusal{http.StatusBadRequest, "bad_balance"}
	errInvalidJSON         = refusal{http.StatusBadRequest, "invalid_json"}
	errWrongType           = refusal{http.StatusBadRequest, "wrong_type"}
	errUnknownField        = refusal{http.StatusBadRequest, "unknown_field"}
	errMissingField        = refusal{http.StatusBadRequest, "missing_field"}
	errBadID               = refusal{http.StatusBadRequest, "bad_id"}
	errBadAmount           = refusal{http.StatusBadRequest, "bad_amount"}
	errSameClient          = refusal{http.StatusBadRequest, "same_client"}
	errUnknownClient       = refusal{http.StatusNotFound, "unknown_client"}
	errDatabaseUnavailable = refusal{http.StatusServiceUnavailable, "database_unavailable"}
)

func health(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, []byte(healthUp))
}

// answer returns what is sent with 200, or why not.
type answer func(w http.ResponseWriter, r *http.Request) (any, error)

// observed answers, counts and logs.
func observed(o *pathObserver, answer answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		in := &countingBody{ReadCloser: r.Body}
		r.Body = in
		status, body := encode(answer(w, r))
		write(w, status, body) // into the server's buffer, which is sent when this function has returned
		o.observe(observationOf(r, in, begin, status, len(body)), nil)
	})
}

// observationOf is what is known of a request whose answer is in the server's buffer.
func observationOf(r *http.Request, in *countingBody, begin time.Time, status, bytesOut int) observation {
	seen := observation{
		method: r.Method, status: status, begin: begin, took: time.Since(begin),
		bytesIn: r.ContentLength, bytesOut: int64(bytesOut),
	}
	if seen.bytesIn < 0 { // chunked: the length was not declared
		seen.bytesIn = in.read
	}
	return seen
}

// countingBody knows how much was read of it.
type countingBody struct {
	io.ReadCloser
	read int64
}

func (b *countingBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.read += int64(n)
	return n, err
}

// readBody reads to the end of the body, and no further than the limit.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	return body, bodyError(err)
}

// bodyError names what went wrong with the reading of a body.
func bodyError(err error) error {
	if err == nil {
		return nil
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return errBodyTooLarge
	}
	return errInvalidJSON // the client went away or broke its chunked encoding: there is no whole body
}

// encode returns the status and the body of an answer. What the database said is not for the caller.
func encode(out any, err error) (int, []byte) {
	var body []byte
	if err == nil {
		body, err = json.Marshal(out)
	}
	var refused refusal
	switch {
	case err == nil:
		return http.StatusOK, body
	case errors.As(err, &refused):
		return refused.status, refused.body()
	}
	if !errors.Is(err, context.Canceled) { // who left the queue is no error
		log.Print(err)
	}
	return errDatabaseUnavailable.status, errDatabaseUnavailable.body()
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that went away is no concern of the server
}

// askedBalance returns the balance of a path, if a client may be opened with it.
func askedBalance(r *http.Request) (int32, error) {
	balance, ok := digits(pathValue(r, "balance"))
	if !ok || balance > maxAmount {
		return 0, errBadBalance
	}
	return int32(balance), nil
}

// askedClient returns the id of a path, if it may be a client's.
func askedClient(r *http.Request) (int32, error) {
	id, ok := digits(pathValue(r, "id"))
	switch {
	case !ok || id == 0:
		return 0, errBadID
	case id > maxID:
		return 0, errUnknownClient
	}
	return int32(id), nil
}

func (b bank) answerCreate(w http.ResponseWriter, r *http.Request) (any, error) {
	if _, err := readBody(w, r); err != nil { // what it says does not matter
		return nil, err
	}
	balance, err := askedBalance(r)
	if err != nil {
		return nil, err
	}
	id, err := b.create(r.Context(), balance)
	return clientAnswer{ID: id}, err
}

func (b bank) answerTransfer(w http.ResponseWriter, r *http.Request) (any, error) {
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	wanted, err := readTransfer(body)
	if err != nil {
		return nil, err
	}
	id, err := b.transfer(r.Context(), wanted)
	return transferAnswer{ID: id, Amount: wanted.amount, From: wanted.from, To: wanted.to}, err
}

func (b bank) answerBalance(_ http.ResponseWriter, r *http.Request) (any, error) {
	id, err := askedClient(r)
	if err != nil {
		return nil, err
	}
	balance, err := b.balance(r.Context(), id)
	return balanceAnswer{balance}, err
}
