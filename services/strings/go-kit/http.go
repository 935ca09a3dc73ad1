// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/go-kit/kit/endpoint"
	httptransport "github.com/go-kit/kit/transport/http"
)

var (
	errNotFound         = errors.New("not_found")
	errMethodNotAllowed = errors.New("method_not_allowed")

	jsonType  = []string{"application/json"} // shared: net/http only reads header values
	healthUp  = []byte(`{"status":"up"}`)
	leanBody  = []byte(`{"v":"HELLO"}`)
	allowGet  = []string{"GET"}
	allowPost = []string{"POST"}
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

// operation is an endpoint and what turns requests into what it takes.
type operation struct {
	endpoint endpoint.Endpoint
	decode   httptransport.DecodeRequestFunc
}

var operations = map[string]map[string]operation{
	"tuned": {
		"/uppercase": {answering(uppercase), decodeText},
		"/count":     {answering(count), decodeText},
		"/work":      {answering(work), decodeWork},
	},
	"idiomatic": {
		"/uppercase": {binding(bindUppercase), decodeTextByBinding},
		"/count":     {binding(bindCount), decodeTextByBinding},
		"/work":      {binding(bindWork), decodeWorkByBinding},
	},
}

// matchedRoutes is all that the matched face answers, in the tuned or the idiomatic craft.
func matchedRoutes(o *observer, metrics http.Handler, craft string) http.Handler {
	routes := map[string]http.Handler{
		"/health":  getOnly(http.HandlerFunc(health)),
		"/metrics": getOnly(metrics),
	}
	for path, op := range operations[craft] {
		seen := o.of(path, http.StatusOK, http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge)
		routes[path] = operationServer(seen, op)
	}
	return &router{
		routes:  routes,
		unknown: operationServer(o.of("other", http.StatusNotFound), operation{endpoint.Nop, decodeUnknown}),
	}
}

func operationServer(seen *pathObserver, op operation) http.Handler {
	return httptransport.NewServer(op.endpoint, op.decode, encodeAnswer,
		httptransport.ServerBefore(beginExchange(seen)),
		httptransport.ServerErrorEncoder(encodeError),
		httptransport.ServerFinalizer(endExchange),
	)
}

func decodeText(ctx context.Context, r *http.Request) (any, error) {
	return decodeExchange(ctx, r, false)
}

func decodeWork(ctx context.Context, r *http.Request) (any, error) {
	return decodeExchange(ctx, r, true)
}

func decodeExchange(ctx context.Context, r *http.Request, takesFactor bool) (any, error) {
	if r.Method != http.MethodPost {
		return nil, errMethodNotAllowed
	}
	x := exchangeOf(ctx)
	return x, x.request.read(r.Body, takesFactor)
}

func decodeTextByBinding(ctx context.Context, r *http.Request) (any, error) {
	return decodeByBinding(ctx, r, false)
}

func decodeWorkByBinding(ctx context.Context, r *http.Request) (any, error) {
	return decodeByBinding(ctx, r, true)
}

func decodeByBinding(ctx context.Context, r *http.Request, takesFactor bool) (any, error) {
	if r.Method != http.MethodPost {
		return nil, errMethodNotAllowed
	}
	data, read, err := readAll(r.Body)
	exchangeOf(ctx).request.bytesRead = read
	if err != nil {
		return nil, err
	}
	return bindInput(data, takesFactor)
}

func decodeUnknown(context.Context, *http.Request) (any, error) {
	return nil, errNotFound
}

// encodeAnswer sends what an endpoint returned: an exchange, or an answer to marshal.
func encodeAnswer(ctx context.Context, w http.ResponseWriter, response any) error {
	x, made := response.(*exchange)
	if !made {
		x = exchangeOf(ctx)
		x.out = marshalled(response)
	}
	x.answer(w, http.StatusOK)
	return nil
}

func encodeError(ctx context.Context, err error, w http.ResponseWriter) {
	status := http.StatusBadRequest
	switch err {
	case errNotFound:
		status = http.StatusNotFound
	case errMethodNotAllowed:
		status = http.StatusMethodNotAllowed
		w.Header()["Allow"] = allowPost
	case errBodyTooLarge:
		status = http.StatusRequestEntityTooLarge
	}
	x := exchangeOf(ctx)
	x.out = append(x.out, `{"error":"`...)
	x.out = append(x.out, err.Error()...)
	x.out = append(x.out, `"}`...)
	x.answer(w, status)
}

// leanRoutes is the baseline of `harness bench services`: this server and nothing of this service.
func leanRoutes() http.Handler {
	constant := func(_ context.Context, w http.ResponseWriter, _ any) error {
		w.Header()["Content-Type"] = jsonType
		_, err := w.Write(leanBody)
		return err
	}
	uppercase := httptransport.NewServer(endpoint.Nop, httptransport.NopRequestDecoder, constant)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost && r.URL.Path == "/uppercase":
			uppercase.ServeHTTP(w, r)
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
			reply(w, http.StatusMethodNotAllowed, []byte(`{"error":"method_not_allowed"}`))
			return
		}
		next.ServeHTTP(w, r)
	})
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
