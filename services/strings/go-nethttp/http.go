// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	jsonType  = []string{"application/json"} // shared: net/http only reads header values
	healthUp  = []byte(`{"status":"up"}`)
	leanBody  = []byte(`{"v":"HELLO"}`)
	allowGet  = []string{"GET"}
	allowPost = []string{"POST"}

	notFound         = []byte(`{"error":"not_found"}`)
	methodNotAllowed = []byte(`{"error":"method_not_allowed"}`)
)

// router finds a handler by the exact path that was sent. http.ServeMux would redirect a path like
// //uppercase and answer in plain text; the contract has a 404 and JSON for whatever is not there.
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

// matchedRoutes is all that the matched face answers, in the tuned or the idiomatic craft; without an observer no
// request is timed, counted or logged.
func matchedRoutes(o *observer, metrics http.Handler, craft string) http.Handler {
	routes := map[string]http.Handler{
		"/health":  getOnly(http.HandlerFunc(health)),
		"/metrics": getOnly(metrics),
	}
	for path, crafts := range map[string]map[string]responder{
		"/uppercase": {"tuned": tuned(uppercase, false), "idiomatic": idiomatic(bindUppercase, false)},
		"/count":     {"tuned": tuned(count, false), "idiomatic": idiomatic(bindCount, false)},
		"/work":      {"tuned": tuned(work, true), "idiomatic": idiomatic(bindWork, true)},
	} {
		op := &operation{respond: crafts[craft]}
		if o != nil {
			op.observer = o.of(path, http.StatusOK, http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge)
		}
		routes[path] = op
	}
	unknown := new(operation)
	if o != nil {
		unknown.observer = o.of("other", http.StatusNotFound)
	}
	return &router{routes: routes, unknown: unknown}
}

// leanRoutes is the baseline of `harness bench services`: this server and nothing of this service.
func leanRoutes(metrics http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && r.URL.Path == "/uppercase":
			w.Header()["Content-Type"] = jsonType
			_, _ = w.Write(leanBody) // a client that went away is no concern of the server
		case r.Method == http.MethodGet && r.URL.Path == "/health":
			health(w, r)
		case r.Method == http.MethodGet && r.URL.Path == "/metrics":
			metrics.ServeHTTP(w, r)
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

// exchange is what one request needs, reused for later ones.
type exchange struct {
	request requestReader
	work    []byte
	out     []byte
	line    []byte
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// responder reads a request's body and leaves the body of the 200 answer in x.out.
type responder func(x *exchange, body io.Reader) error

// tuned reads into the exchange's buffers, and has answer append to x.out.
func tuned(answer func(x *exchange), takesFactor bool) responder {
	return func(x *exchange, body io.Reader) error {
		if err := x.request.read(body, takesFactor); err != nil {
			return err
		}
		answer(x)
		return nil
	}
}

// idiomatic binds requests and answers to structs.
func idiomatic(answer func(in input) any, takesFactor bool) responder {
	return func(x *exchange, body io.Reader) error {
		data, read, err := readAll(body)
		x.request.bytesRead = read
		if err != nil {
			return err
		}
		in, err := bindInput(data, takesFactor)
		if err != nil {
			return err
		}
		x.out = marshalled(answer(in))
		return nil
	}
}

// operation serves one path of the workload, or all the unknown ones when it has no responder.
type operation struct {
	respond  responder
	observer *pathObserver // nil: nothing is observed
}

func (op *operation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var begin time.Time
	if op.observer != nil {
		begin = time.Now()
	}
	x := exchanges.Get().(*exchange)
	x.out, x.request.bytesRead = x.out[:0], 0

	status, body := http.StatusOK, []byte(nil)
	switch {
	case op.respond == nil:
		status, body = http.StatusNotFound, notFound
	case r.Method != http.MethodPost:
		w.Header()["Allow"] = allowPost
		status, body = http.StatusMethodNotAllowed, methodNotAllowed
	default:
		status, body = op.answer(x, r.Body)
	}

	if op.observer != nil {
		seen := observation{
			method: r.Method, status: status, begin: begin, took: time.Since(begin),
			bytesIn: r.ContentLength, bytesOut: int64(len(body)),
		}
		if seen.bytesIn < 0 { // chunked: the length was not declared
			seen.bytesIn = x.request.bytesRead
		}
		x.line = op.observer.observe(seen, x.line)
	}
	reply(w, status, body)
	exchanges.Put(x)
}

// answer returns a status and a body that is valid until x is used again.
func (op *operation) answer(x *exchange, body io.Reader) (int, []byte) {
	if err := op.respond(x, body); err != nil {
		x.out = append(x.out, `{"error":"`...)
		x.out = append(x.out, err.Error()...)
		x.out = append(x.out, `"}`...)
		if err == errBodyTooLarge {
			return http.StatusRequestEntityTooLarge, x.out
		}
		return http.StatusBadRequest, x.out
	}
	return http.StatusOK, x.out
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

func uppercase(x *exchange) {
	x.work = Upper(x.work[:0], x.request.text)
	x.out = append(x.out, `{"v":`...)
	x.out = appendQuoted(x.out, x.work)
	x.out = append(x.out, '}')
}

func count(x *exchange) {
	x.out = append(x.out, `{"v":`...)
	x.out = strconv.AppendInt(x.out, int64(Count(x.request.text)), 10)
	x.out = append(x.out, '}')
}

func work(x *exchange) {
	var done Worked
	done, x.work = Work(x.work, x.request.text, x.request.factor)
	x.out = append(x.out, `{"upper":`...)
	x.out = appendQuoted(x.out, done.Upper)
	x.out = append(x.out, `,"lower":`...)
	x.out = appendQuoted(x.out, done.Lower)
	x.out = append(x.out, `,"reversed":`...)
	x.out = appendQuoted(x.out, done.Reversed)
	x.out = append(x.out, `,"crc32":"`...)
	x.out = appendHex(x.out, done.Checksum)
	x.out = append(x.out, `","factor":`...)
	x.out = strconv.AppendInt(x.out, int64(x.request.factor), 10)
	x.out = append(x.out, `,"score":`...)
	x.out = strconv.AppendUint(x.out, uint64(done.Score), 10)
	x.out = append(x.out, '}')
}

// appendQuoted appends a JSON string with the escapes that JSON demands and no others.
func appendQuoted(dst, text []byte) []byte {
	dst, err := jsontext.AppendQuote(dst, text)
	if err != nil { // cannot be: text came out of a JSON string, so it is UTF-8
		panic(err)
	}
	return dst
}

// appendHex appends eight lower-case digits.
func appendHex(dst []byte, number uint32) []byte {
	const digits = "0123456789abcdef"
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, digits[number>>shift&0xf])
	}
	return dst
}
