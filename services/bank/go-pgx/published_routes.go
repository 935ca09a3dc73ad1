// SPDX-License-Identifier: Apache-2.0

package main

import "net/http"

// publishedRoutes is all that the published face answers, with net/http and pgx where the original had gorilla/mux and
// lib/pq.
func publishedRoutes(p published, metrics http.Handler) http.Handler {
	return publishedRouter(p, panics, metrics)
}

// repairedRoutes is all that the repaired face answers, with the same replacements.
func repairedRoutes(p published, metrics http.Handler) http.Handler {
	return publishedRouter(p, says, metrics)
}

func publishedRouter(p published, failed ended, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", publishedHome)
	mux.HandleFunc(createRoute, p.create(failed))
	mux.HandleFunc(transferRoute, p.transfer(failed))
	mux.HandleFunc(balanceRoute, p.balance(failed))
	mux.HandleFunc("GET /health", health)
	mux.Handle("GET /metrics", metrics)
	return mux
}
