// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strings"

	"github.com/gorilla/mux"
)

// The routes, as they stand in the router.
const (
	createPath   = "/client/new/{balance}"
	transferPath = "/transaction"
	balancePath  = "/client/{id}/balance"
)

// matchedRoutes is all that the matched face answers, in the tuned or the idiomatic craft.
func matchedRoutes(made handlers, o *observer, metrics http.Handler) http.Handler {
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	unknown := observed(o.of("other", 404), func(http.ResponseWriter, *http.Request) (any, error) { return nil, errNotFound })
	router.NotFoundHandler = unknown

	seen := map[string]*pathObserver{}
	for path, name := range map[string]string{createPath: "/client/new", transferPath: "/transaction", balancePath: "/client/balance"} {
		seen[path] = o.of(name, 200, 400, 404, 405, 413, 503)
	}
	router.Handle(createPath, made.create(seen[createPath])).Methods(http.MethodPost)
	router.Handle(transferPath, made.transfer(seen[transferPath])).Methods(http.MethodPost)
	router.Handle(balancePath, made.balance(seen[balancePath])).Methods(http.MethodGet, http.MethodHead)
	router.HandleFunc("/health", health).Methods(http.MethodGet, http.MethodHead)
	router.Handle("/metrics", metrics).Methods(http.MethodGet, http.MethodHead)

	// The same paths again, for what none of these takes: the router's own answer would tell neither
	// which method is allowed nor which route it was.
	for path, allowed := range map[string]string{createPath: http.MethodPost, transferPath: http.MethodPost, balancePath: http.MethodGet} {
		router.Handle(path, observed(seen[path], wrongMethod(allowed)))
	}
	for _, path := range []string{"/health", "/metrics"} {
		router.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", http.MethodGet)
			write(w, errMethodNotAllowed.status, errMethodNotAllowed.body())
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
	constant := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, []byte(body)) }
	}
	router.Handle(createPath, constant(`{"id":1,"name":"","email":"","phone":""}`)).Methods(http.MethodPost)
	router.Handle(transferPath, constant(`{"id":2,"amount":1,"from_client_id":1,"to_client_id":2}`)).Methods(http.MethodPost)
	router.Handle(balancePath, constant(`{"balance":0}`)).Methods(http.MethodGet)
	router.HandleFunc("/health", health).Methods(http.MethodGet)
	router.MethodNotAllowedHandler = http.NotFoundHandler()
	return router
}

func wrongMethod(allowed string) answer {
	return func(w http.ResponseWriter, _ *http.Request) (any, error) {
		w.Header().Set("Allow", allowed)
		return nil, errMethodNotAllowed
	}
}

// pathValue returns a segment of the path, which the router has found.
func pathValue(r *http.Request, name string) string { return mux.Vars(r)[name] }
