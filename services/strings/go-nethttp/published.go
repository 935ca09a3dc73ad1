// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	kitlog "github.com/go-kit/log"
)

// The published face: what the articles' Go program did, written for net/http alone.
// Its flaws are kept on purpose: count counts bytes, and an empty string is an error with status 200.

type textRequest struct {
	S string `json:"s"`
}

type uppercaseResponse struct {
	V   string `json:"v"`
	Err string `json:"err,omitempty"`
}

type countResponse struct {
	V int `json:"v"`
}

//lint:ignore ST1005 the capital letter is part of the published answer
var errEmpty = errors.New("Empty string")

// publishedRoutes is all that the published face answers. logger may be nil.
func publishedRoutes(logger kitlog.Logger, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/uppercase", func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		var request textRequest
		if !decode(w, r, &request) {
			return
		}
		var response uppercaseResponse
		var err error
		if request.S == "" {
			err = errEmpty
			response.Err = err.Error()
		} else {
			response.V = strings.ToUpper(request.S)
		}
		encode(w, response)
		if logger != nil {
			_ = logger.Log("method", "uppercase", "input", request.S, "output", response.V, "err", err, "took", time.Since(begin))
		}
	})
	mux.HandleFunc("/count", func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		var request textRequest
		if !decode(w, r, &request) {
			return
		}
		response := countResponse{V: len(request.S)}
		encode(w, response)
		if logger != nil {
			_ = logger.Log("method", "count", "input", request.S, "n", response.V, "took", time.Since(begin))
		}
	})
	mux.HandleFunc("GET /health", health)
	mux.Handle("GET /metrics", metrics)
	return mux
}

func decode(w http.ResponseWriter, r *http.Request, into *textRequest) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodyBytes)).Decode(into)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
		return true
	case errors.As(err, &tooLarge):
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	default:
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return false
}

func encode(w http.ResponseWriter, response any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(response) // fails only when the client went away
}
