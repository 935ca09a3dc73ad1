// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/mux"
)

// The routes, as they stand in the router.
const (
	createPath   = "/client/new/{balance}"
	transferPath = "/transaction"
	balancePath  = "/client/{id}/balance"
)

var (
	jsonType = []string{"application/json"} // shared: net/http only reads header values
	healthUp = []byte(`{"status":"up"}`)

	leanCreate   = []byte(`{"id":1,"name":"","email":"","phone":""}`)
	leanTransfer = []byte(`{"id":2,"amount":1,"from_client_id":1,"to_client_id":2}`)
	leanBalance  = []byte(`{"balance":0}`)
)

// refusal is an answer other than 200, as an error.
type refusal struct {
	status int
	code   string
	body   []byte
}

func (r *refusal) Error() string { return r.code }

func refuse(status int, code string) *refusal {
	return &refusal{status: status, code: code, body: []byte(`{"error":"` + code + `"}`)}
}

var (
	errNotFound            = refuse(http.StatusNotFound, "not_found")
	errMethodNotAllowed    = refuse(http.StatusMethodNotAllowed, "method_not_allowed")
	errBodyTooLarge        = refuse(http.StatusRequestEntityTooLarge, "body_too_large")
	errBadBalance          = refuse(http.StatusBadRequest, "bad_balance")
	errInvalidJSON         = refuse(http.StatusBadRequest, "invalid_json")
	errWrongType           = refuse(http.StatusBadRequest, "wrong_type")
	errUnknownField        = refuse(http.StatusBadRequest, "unknown_field")
	errMissingField        = refuse(http.StatusBadRequest, "missing_field")
	errBadID               = refuse(http.StatusBadRequest, "bad_id")
	errBadAmount           = refuse(http.StatusBadRequest, "bad_amount")
	errSameClient          = refuse(http.StatusBadRequest, "same_client")
	errUnknownClient       = refuse(http.StatusNotFound, "unknown_client")
	errDatabaseUnavailable = refuse(http.StatusServiceUnavailable, "database_unavailable")
)

// matchedRoutes is all that the matched face answers.
func matchedRoutes(b bank, o *observer, metrics http.Handler) http.Handler {
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	unknown := &operation{observer: o.of("other", 404), answer: func(context.Context, *exchange, *http.Request) error { return errNotFound }}
	router.NotFoundHandler = unknown

	seen := map[string]*pathObserver{}
	for path, name := range map[string]string{createPath: "/client/new", transferPath: "/transaction", balancePath: "/client/balance"} {
		seen[path] = o.of(name, 200, 400, 404, 405, 413, 503)
	}
	router.Handle(createPath, &operation{b.answerCreate, seen[createPath]}).Methods(http.MethodPost)
	router.Handle(transferPath, &operation{b.answerTransfer, seen[transferPath]}).Methods(http.MethodPost)
	router.Handle(balancePath, &operation{b.answerBalance, seen[balancePath]}).Methods(http.MethodGet, http.MethodHead)
	router.HandleFunc("/health", health).Methods(http.MethodGet, http.MethodHead)
	router.Handle("/metrics", metrics).Methods(http.MethodGet, http.MethodHead)

	// The same paths again, for what none of these takes: the router's own answer would tell neither
	// which method is allowed nor which route it was.
	for path, allowed := range map[string]string{createPath: http.MethodPost, transferPath: http.MethodPost, balancePath: http.MethodGet} {
		router.Handle(path, &operation{wrongMethod(allowed), seen[path]})
	}
	for _, path := range []string{"/health", "/metrics"} {
		router.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", http.MethodGet)
			reply(w, errMethodNotAllowed.status, errMethodNotAllowed.body)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.EscapedPath(), "%") { // another spelling of a path is another path
			unknown.ServeHTTP(w, r)
			return
		}
		router.ServeHTTP(w, r)
	})
}

// leanRoutes is the baseline of `harness bench services`: this router and nothing of this service.
func leanRoutes() http.Handler {
	router := mux.NewRouter()
	constant := func(body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, body) }
	}
	router.Handle(createPath, constant(leanCreate)).Methods(http.MethodPost)
	router.Handle(transferPath, constant(leanTransfer)).Methods(http.MethodPost)
	router.Handle(balancePath, constant(leanBalance)).Methods(http.MethodGet)
	router.HandleFunc("/health", health).Methods(http.MethodGet)
	router.MethodNotAllowedHandler = http.NotFoundHandler()
	return router
}

func health(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, healthUp)
}

// exchange is what one request needs, reused for later ones.
type exchange struct {
	request requestReader
	header  http.Header
	out     []byte
	line    []byte
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// operation serves one path of the workload.
type operation struct {
	answer   func(ctx context.Context, x *exchange, r *http.Request) error // appends the body of a 200 to x.out
	observer *pathObserver
}

func (op *operation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	x := exchanges.Get().(*exchange)
	x.out, x.request.bytesRead, x.header = x.out[:0], 0, w.Header()

	status, body := http.StatusOK, []byte(nil)
	if err := op.answer(r.Context(), x, r); err == nil {
		body = x.out
	} else {
		refused, expected := err.(*refusal)
		if !expected { // what the database said is not for the caller
			refused = errDatabaseUnavailable
			if r.Context().Err() == nil { // who left the queue is no error
				log.Print(err)
			}
		}
		status, body = refused.status, refused.body
	}
	reply(w, status, body)

	seen := observation{
		method: r.Method, status: status, begin: begin, took: time.Since(begin),
		bytesIn: r.ContentLength, bytesOut: int64(len(body)),
	}
	if seen.bytesIn < 0 { // chunked: the length was not declared
		seen.bytesIn = x.request.bytesRead
	}
	x.line = op.observer.observe(seen, x.line)
	x.header = nil
	exchanges.Put(x)
}

func wrongMethod(allowed string) func(context.Context, *exchange, *http.Request) error {
	return func(_ context.Context, x *exchange, _ *http.Request) error {
		x.header["Allow"] = []string{allowed}
		return errMethodNotAllowed
	}
}

func (b bank) answerCreate(ctx context.Context, x *exchange, r *http.Request) error {
	if err := x.request.readBody(r.Body); err != nil { // what it says does not matter
		return err
	}
	balance, ok := digits(mux.Vars(r)["balance"])
	if !ok || balance > maxAmount {
		return errBadBalance
	}
	id, err := b.create(ctx, balance)
	if err != nil {
		return err
	}
	x.out = append(x.out, `{"id":`...)
	x.out = strconv.AppendInt(x.out, id, 10)
	x.out = append(x.out, `,"name":"","email":"","phone":""}`...)
	return nil
}

func (b bank) answerTransfer(ctx context.Context, x *exchange, r *http.Request) error {
	q := &x.request
	if err := q.readTransfer(r.Body); err != nil {
		return err
	}
	id, err := b.transfer(ctx, q.from.value, q.to.value, q.amount.value)
	if err != nil {
		return err
	}
	x.out = append(x.out, `{"id":`...)
	x.out = strconv.AppendInt(x.out, id, 10)
	x.out = append(x.out, `,"amount":`...)
	x.out = strconv.AppendInt(x.out, q.amount.value, 10)
	x.out = append(x.out, `,"from_client_id":`...)
	x.out = strconv.AppendInt(x.out, q.from.value, 10)
	x.out = append(x.out, `,"to_client_id":`...)
	x.out = strconv.AppendInt(x.out, q.to.value, 10)
	x.out = append(x.out, '}')
	return nil
}

func (b bank) answerBalance(ctx context.Context, x *exchange, r *http.Request) error {
	id, ok := digits(mux.Vars(r)["id"])
	switch {
	case !ok || id == 0:
		return errBadID
	case id > maxID:
		return errUnknownClient
	}
	balance, err := b.balance(ctx, id)
	if err != nil {
		return err
	}
	x.out = append(x.out, `{"balance":`...)
	x.out = strconv.AppendInt(x.out, balance, 10)
	x.out = append(x.out, '}')
	return nil
}

func reply(w http.ResponseWriter, status int, body []byte) {
	w.Header()["Content-Type"] = jsonType // net/http sets the length of a small body itself
	if status != http.StatusOK {
		w.WriteHeader(status)
	}
	_, _ = w.Write(body) // a client that went away is no concern of the server
}
