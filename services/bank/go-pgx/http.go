// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"path"
	"strings"
)

// The routes, as they stand in the mux.
const (
	createRoute   = "POST /client/new/{balance}"
	transferRoute = "POST /transaction"
	balanceRoute  = "GET /client/{id}/balance"
)

// matchedRoutes is all that the matched face answers, in the tuned or the idiomatic craft.
func matchedRoutes(made handlers, o *observer, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	seen := map[string]*pathObserver{}
	for _, one := range []struct {
		route, name string
		handler     func(*pathObserver) http.Handler
	}{
		{createRoute, "/client/new", made.create},
		{transferRoute, "/transaction", made.transfer},
		{balanceRoute, "/client/balance", made.balance},
	} {
		seen[one.route] = o.of(one.name, 200, 400, 404, 405, 413, 503)
		mux.Handle(one.route, one.handler(seen[one.route]))
	}
	mux.HandleFunc("GET /health", health)
	mux.Handle("GET /metrics", metrics)
	unknown := observed(o.of("other", 404), func(http.ResponseWriter, *http.Request) (any, error) { return nil, errNotFound })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { // what no other pattern took
		route, allowed := knownForAnotherMethod(mux, r)
		refuse := func(w http.ResponseWriter, _ *http.Request) (any, error) {
			w.Header().Set("Allow", allowed)
			return nil, errMethodNotAllowed
		}
		switch {
		case seen[route] != nil:
			observed(seen[route], refuse).ServeHTTP(w, r)
		case route != "":
			_, _ = refuse(w, r)
			write(w, errMethodNotAllowed.status, errMethodNotAllowed.body())
		default:
			unknown.ServeHTTP(w, r)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux would answer another spelling of a path with a redirect; the contract knows no such path.
		if strings.Contains(r.URL.EscapedPath(), "%") || path.Clean(r.URL.Path) != r.URL.Path {
			unknown.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// knownForAnotherMethod returns the pattern that would take r with another method, and that method.
func knownForAnotherMethod(mux *http.ServeMux, r *http.Request) (route, method string) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.WithContext(r.Context()) // a shallow copy
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != "/" {
			return pattern, method
		}
	}
	return "", ""
}

// leanRoutes is the baseline of `harness bench services`: this mux and nothing of this service.
func leanRoutes() http.Handler {
	mux := http.NewServeMux()
	for route, body := range map[string][]byte{
		createRoute:   []byte(`{"id":1,"name":"","email":"","phone":""}`),
		transferRoute: []byte(`{"id":2,"amount":1,"from_client_id":1,"to_client_id":2}`),
		balanceRoute:  []byte(`{"balance":0}`),
	} {
		mux.HandleFunc(route, func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, body) })
	}
	mux.HandleFunc("GET /health", health)
	mux.HandleFunc("/", http.NotFound)
	return mux
}

// pathValue returns a segment of the path, which the mux has found.
func pathValue(r *http.Request, name string) string { return r.PathValue(name) }
