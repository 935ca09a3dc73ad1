// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"

	"github.com/gorilla/mux"
)

// publishedRoutes is all that the published face answers.
func publishedRoutes(p published, metrics http.Handler) http.Handler {
	return publishedRouter(p, panics, metrics)
}

// repairedRoutes is all that the repaired face answers.
func repairedRoutes(p published, metrics http.Handler) http.Handler {
	return publishedRouter(p, says, metrics)
}

func publishedRouter(p published, failed ended, metrics http.Handler) http.Handler {
	router := mux.NewRouter()
	router.HandleFunc("/", publishedHome)
	router.HandleFunc(createPath, p.create(failed)).Methods(http.MethodPost)
	router.HandleFunc(transferPath, p.transfer(failed)).Methods(http.MethodPost)
	router.HandleFunc(balancePath, p.balance(failed)).Methods(http.MethodGet)
	router.HandleFunc("/health", health).Methods(http.MethodGet)
	router.Handle("/metrics", metrics).Methods(http.MethodGet)
	return router
}
