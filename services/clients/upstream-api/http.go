// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const maxBodyBytes = 65_536

// Shared header values: net/http only reads them.
var (
	jsonType = []string{"application/json"}
	allowGet = []string{"GET"}
)

// page is an answer made beforehand, with all that net/http would otherwise work out each time.
type page struct {
	status int
	body   []byte
	length []string
}

func newPage(status int, body []byte) *page {
	return &page{status: status, body: body, length: []string{strconv.Itoa(len(body))}}
}

func (p *page) write(w http.ResponseWriter) {
	header := w.Header()
	header["Content-Type"] = jsonType
	header["Content-Length"] = p.length
	if p.status == http.StatusMethodNotAllowed {
		header["Allow"] = allowGet
	}
	w.WriteHeader(p.status)
	_, _ = w.Write(p.body) // a client that went away is no concern of the server
}

var (
	healthUp         = newPage(http.StatusOK, []byte(`{"status":"up"}`))
	notFound         = newPage(http.StatusNotFound, []byte(`{"error":"not_found"}`))
	methodNotAllowed = newPage(http.StatusMethodNotAllowed, []byte(`{"error":"method_not_allowed"}`))
	bodyTooLarge     = newPage(http.StatusRequestEntityTooLarge, []byte(`{"error":"body_too_large"}`))
)

// faults is what experiments may ask for.
type faults struct {
	delay   time.Duration
	garbage bool
}

// site answers each path with its page. Twenty-two paths are all there are, so one look into a map
// finds the page, and an id in another spelling is not there.
type site struct {
	pages   map[string]*page
	faults  faults
	served  prometheus.Counter
	metrics http.Handler
}

// newSite is all that the program answers; production and tests both mount it.
func newSite(wanted faults, served prometheus.Counter, metrics http.Handler) *site {
	s := &site{pages: map[string]*page{}, faults: wanted, served: served, metrics: metrics}
	for id := 0; id <= clientCount; id++ { // 0 is whom the published programs ask for
		phones, address := phonesBody(id), []byte(addressBody)
		if wanted.garbage {
			phones, address = garbageBody, garbageBody
		}
		s.pages["/phones/"+strconv.Itoa(id)] = newPage(http.StatusOK, phones)
		s.pages["/address/"+strconv.Itoa(id)] = newPage(http.StatusOK, address)
	}
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawPath != "" { // the path was sent in another spelling than the decoded one
		notFound.write(w)
		return
	}
	found := s.pages[r.URL.Path]
	own := r.URL.Path == "/health" || r.URL.Path == "/metrics"
	switch {
	case found == nil && !own:
		notFound.write(w)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		methodNotAllowed.write(w)
	case r.URL.Path == "/health":
		healthUp.write(w)
	case r.URL.Path == "/metrics":
		s.metrics.ServeHTTP(w, r)
	case oversized(r):
		bodyTooLarge.write(w)
	case s.wait(r):
		s.served.Inc()
		found.write(w)
	}
}

// wait returns whether there is still somebody to answer after the delay.
func (s *site) wait(r *http.Request) bool {
	if s.faults.delay == 0 {
		return true
	}
	timer := time.NewTimer(s.faults.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// oversized reads a body that nobody wants, so that too much of it is noticed.
func oversized(r *http.Request) bool {
	if r.ContentLength == 0 || r.ContentLength > maxBodyBytes {
		return r.ContentLength != 0
	}
	read, _ := io.Copy(io.Discard, io.LimitReader(r.Body, maxBodyBytes+1)) // what cannot be read is not too large
	return read > maxBodyBytes
}
