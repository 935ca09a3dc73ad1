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

// matchedRoutes is all that the matched face answers.
func matchedRoutes(o *observer, metrics http.Handler) http.Handler {
	operation := func(path string, e endpoint.Endpoint, decode httptransport.DecodeRequestFunc) http.Handler {
		seen := o.of(path, http.StatusOK, http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge)
		return operationServer(seen, e, decode)
	}
	return &router{
		routes: map[string]http.Handler{
			"/uppercase": operation("/uppercase", uppercaseEndpoint, decodeText),
			"/count":     operation("/count", countEndpoint, decodeText),
			"/work":      operation("/work", workEndpoint, decodeWork),
			"/health":    getOnly(http.HandlerFunc(health)),
			"/metrics":   getOnly(metrics),
		},
		unknown: operationServer(o.of("other", http.StatusNotFound), endpoint.Nop, decodeUnknown),
	}
}

func operationServer(seen *pathObserver, e endpoint.Endpoint, decode httptransport.DecodeRequestFunc) http.Handler {
	return httptransport.NewServer(e, decode, encodeExchange,
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

func decodeUnknown(context.Context, *http.Request) (any, error) {
	return nil, errNotFound
}

func encodeExchange(_ context.Context, w http.ResponseWriter, response any) error {
	response.(*exchange).answer(w, http.StatusOK)
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
