// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

const maxBodyBytes = 65_536

var (
	jsonType = []string{"application/json"} // shared: net/http only reads header values
	healthUp = []byte(`{"status":"up"}`)
	allowGet = []string{"GET"}

	notFound         = []byte(`{"error":"not_found"}`)
	methodNotAllowed = []byte(`{"error":"method_not_allowed"}`)
	bodyTooLarge     = []byte(`{"error":"body_too_large"}`)
	badClient        = []byte(`{"error":"bad_client"}`)
)

// faults are the answers to what is wrong behind this service.
var faults = []struct {
	err    error
	status int
	body   []byte
}{
	{errUpstreamTimeout, http.StatusGatewayTimeout, []byte(`{"error":"upstream_timeout"}`)},
	{errUpstreamUnavailable, http.StatusBadGateway, []byte(`{"error":"upstream_unavailable"}`)},
	{errUpstreamBadAnswer, http.StatusBadGateway, []byte(`{"error":"upstream_bad_answer"}`)},
	{errDatabaseUnavailable, http.StatusServiceUnavailable, []byte(`{"error":"database_unavailable"}`)},
}

// router finds a handler by the exact path that was sent. http.ServeMux would redirect a path like
// //hello and answer in plain text; the contract has a 404 and JSON for whatever is not there.
type router struct {
	routes  map[string]http.Handler
	unknown http.Handler
}

func (t *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawPath == "" { // otherwise the path was sent in another spelling than the decoded one
		if handler, found := t.routes[r.URL.Path]; found {
			handler.ServeHTTP(w, r)
			return
		}
	}
	t.unknown.ServeHTTP(w, r)
}

// matchedRoutes is all that the matched face answers.
func matchedRoutes(s *service, o *observer, metrics http.Handler) http.Handler {
	refused := []int{http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge}
	behind := []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	statuses := append(append([]int{http.StatusOK}, refused...), behind...)
	hello, db := idiomatic(s.hello), idiomatic(s.films)
	if s.tuned {
		hello, db = s.tunedHello, s.tunedFilms
	}
	return &router{
		routes: map[string]http.Handler{
			"/health":  getOnly(http.HandlerFunc(health)),
			"/metrics": getOnly(metrics),
			"/hello":   &operation{answer: hello, service: s, observer: o.of("/hello", statuses...)},
			"/db":      &operation{answer: db, service: s, observer: o.of("/db", statuses...)},
		},
		unknown: &operation{service: s, observer: o.of("other", http.StatusNotFound)},
	}
}

// leanRoutes is the baseline of `harness bench services`: this server and nothing of this service.
func leanRoutes() http.Handler {
	body := leanBody()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/hello":
			w.Header()["Content-Type"] = jsonType
			_, _ = w.Write(body) // a client that went away is no concern of the server
		case r.Method == http.MethodGet && r.URL.Path == "/health":
			health(w, r)
		default:
			http.NotFound(w, r)
		}
	})
}

func health(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, healthUp)
}

func getOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header()["Allow"] = allowGet
			reply(w, http.StatusMethodNotAllowed, methodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// responder returns the body of the 200. What the tuned craft uses again is in x, which the idiomatic one has not.
type responder func(who turn, x *exchange) ([]byte, error)

// idiomatic binds what the body is made of.
func idiomatic(answer func(who turn) (any, error)) responder {
	return func(who turn, _ *exchange) ([]byte, error) {
		made, err := answer(who)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(made)
		if err != nil { // cannot be: texts are constants or came out of parsers that refuse what is not UTF-8
			panic(err)
		}
		return body, nil
	}
}

// operation serves one path of the workload, or all the unknown ones when it has no answer.
type operation struct {
	answer   responder
	service  *service
	observer *pathObserver
}

func (op *operation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	var x *exchange
	if op.service.tuned {
		x = exchanges.Get().(*exchange)
	}
	status, body, bytesRead := op.respond(r, x)
	if status == http.StatusMethodNotAllowed {
		w.Header()["Allow"] = allowGet
	}
	reply(w, status, body) // into the server's buffer, which is sent when this function has returned

	seen := observation{
		method: r.Method, status: status, begin: begin, took: time.Since(begin),
		bytesIn: r.ContentLength, bytesOut: int64(len(body)),
	}
	if seen.bytesIn < 0 { // chunked: the length was not declared
		seen.bytesIn = bytesRead
	}
	op.observer.observe(seen)
	if x != nil {
		exchanges.Put(x) // the body is in the server's buffer by now
	}
}

// respond returns a status, a body that is valid until x is used again, and how many bytes it read.
func (op *operation) respond(r *http.Request, x *exchange) (int, []byte, int64) {
	if op.answer == nil {
		return http.StatusNotFound, notFound, 0
	}
	if r.Method != http.MethodGet {
		return http.StatusMethodNotAllowed, methodNotAllowed, 0
	}
	bytesRead, tooLarge := readAway(r)
	if tooLarge {
		return http.StatusRequestEntityTooLarge, bodyTooLarge, bytesRead
	}
	who, ok := op.service.whose(r.URL.RawQuery)
	if !ok {
		return http.StatusBadRequest, badClient, bytesRead
	}
	body, err := op.answer(who, x)
	if err != nil {
		status, body := op.service.explain(err)
		return status, body, bytesRead
	}
	return http.StatusOK, body, bytesRead
}

// readAway reads a body that nobody wants, so that too much of it is noticed.
func readAway(r *http.Request) (bytesRead int64, tooLarge bool) {
	if r.ContentLength == 0 || r.ContentLength > maxBodyBytes {
		return 0, r.ContentLength != 0
	}
	bytesRead, _ = io.Copy(io.Discard, io.LimitReader(r.Body, maxBodyBytes+1)) // what cannot be read is not too large
	return bytesRead, bytesRead > maxBodyBytes
}

// askedClient returns the client that the query names, nil when it names none. The query is looked
// at as it was sent: no value of `client` needs decoding.
func askedClient(query string) (client *Client, ok bool) {
	for part := range strings.SplitSeq(query, "&") {
		value, found := strings.CutPrefix(part, "client=")
		if !found && part != "client" {
			continue
		}
		// not Atoi: 01 and +1 are no ids
		known := found && len(value) == 1 && '1' <= value[0] && value[0] <= '9'
		number := 10
		if known {
			number = int(value[0] - '0')
		}
		if client != nil || !known && value != "10" {
			return nil, false
		}
		client = &clients[number-1]
	}
	return client, true
}

// explain returns the answer to a fault, and tells the cause on stderr.
func (s *service) explain(err error) (int, []byte) {
	s.complaints.add(err)
	for _, fault := range faults {
		if errors.Is(err, fault.err) {
			return fault.status, fault.body
		}
	}
	panic(err) // cannot be: an answer fails in one of these ways
}

func reply(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header["Content-Type"] = jsonType
	if len(body) > 1_024 { // net/http sets the length of small bodies itself, without allocating
		header["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	if status != http.StatusOK {
		w.WriteHeader(status)
	}
	_, _ = w.Write(body) // a client that went away is no concern of the server
}
