// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-kit/kit/endpoint"
	"github.com/go-kit/kit/metrics"
	kitprometheus "github.com/go-kit/kit/metrics/prometheus"
	httptransport "github.com/go-kit/kit/transport/http"
	kitlog "github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
)

// The published face: the string service as the article had it, in go-kit's layers: a service,
// middleware around it that logs and measures, an endpoint per method, an HTTP server per endpoint.
// Its flaws are kept on purpose: count counts bytes, an empty string is an error with status 200,
// and a latency in "microseconds" holds seconds.
// Both layers are always there: where logging is off, a filter drops what the logging layer made.

// publishedLogger writes each line with one Write, without a lock or a buffer of its own.
func publishedLogger(sink io.Writer, logging bool) kitlog.Logger {
	allowed := level.AllowError()
	if logging {
		allowed = level.AllowInfo()
	}
	return level.Info(level.NewFilter(kitlog.NewLogfmtLogger(sink), allowed))
}

type stringService interface {
	Uppercase(text string) (string, error)
	Count(text string) int
}

type plainService struct{}

//lint:ignore ST1005 the capital letter is part of the published answer
var errEmpty = errors.New("Empty string")

func (plainService) Uppercase(text string) (string, error) {
	if text == "" {
		return "", errEmpty
	}
	return strings.ToUpper(text), nil
}

func (plainService) Count(text string) int {
	return len(text)
}

type loggingService struct {
	next   stringService
	logger kitlog.Logger
}

func (s loggingService) Uppercase(text string) (output string, err error) {
	defer func(begin time.Time) {
		_ = s.logger.Log("method", "uppercase", "input", text, "output", output, "err", err, "took", time.Since(begin))
	}(time.Now())
	return s.next.Uppercase(text)
}

func (s loggingService) Count(text string) (n int) {
	defer func(begin time.Time) {
		_ = s.logger.Log("method", "count", "input", text, "n", n, "took", time.Since(begin))
	}(time.Now())
	return s.next.Count(text)
}

type instrumentedService struct {
	next    stringService
	count   metrics.Counter
	latency metrics.Histogram
	result  metrics.Histogram
}

func newInstrumentedService(next stringService, registry prometheus.Registerer) instrumentedService {
	const namespace, subsystem = "my_group", "string_service"
	const subsystemOfResult = "String_service" // the capital letter is part of the published name
	labels := []string{"method", "error"}
	count := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "request_count",
		Help: "Number of requests received.",
	}, labels)
	latency := prometheus.NewSummaryVec(prometheus.SummaryOpts{
		Namespace: namespace, Subsystem: subsystem, Name: "request_latency_microseconds",
		Help: "Total duration of requests, named microseconds but in seconds, as published.",
	}, labels)
	result := prometheus.NewSummaryVec(prometheus.SummaryOpts{
		Namespace: namespace, Subsystem: subsystemOfResult, Name: "count_result",
		Help: "The result of each count method.",
	}, nil)
	registry.MustRegister(count, latency, result)
	return instrumentedService{
		next:    next,
		count:   kitprometheus.NewCounter(count),
		latency: kitprometheus.NewSummary(latency),
		result:  kitprometheus.NewSummary(result),
	}
}

func (s instrumentedService) Uppercase(text string) (output string, err error) {
	defer func(begin time.Time) {
		labels := []string{"method", "uppercase", "error", fmt.Sprint(err != nil)}
		s.count.With(labels...).Add(1)
		s.latency.With(labels...).Observe(time.Since(begin).Seconds())
	}(time.Now())
	return s.next.Uppercase(text)
}

func (s instrumentedService) Count(text string) (n int) {
	defer func(begin time.Time) {
		labels := []string{"method", "count", "error", "false"}
		s.count.With(labels...).Add(1)
		s.latency.With(labels...).Observe(time.Since(begin).Seconds())
		s.result.Observe(float64(n))
	}(time.Now())
	return s.next.Count(text)
}

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

func publishedUppercase(service stringService) endpoint.Endpoint {
	return func(_ context.Context, request any) (any, error) {
		output, err := service.Uppercase(request.(textRequest).S)
		if err != nil {
			return uppercaseResponse{V: output, Err: err.Error()}, nil
		}
		return uppercaseResponse{V: output}, nil
	}
}

func publishedCount(service stringService) endpoint.Endpoint {
	return func(_ context.Context, request any) (any, error) {
		return countResponse{V: service.Count(request.(textRequest).S)}, nil
	}
}

// publishedRoutes is all that the published face answers.
func publishedRoutes(logger kitlog.Logger, registry prometheus.Registerer, metrics http.Handler) http.Handler {
	service := newInstrumentedService(loggingService{next: plainService{}, logger: logger}, registry)

	server := func(e endpoint.Endpoint) http.Handler {
		return httptransport.NewServer(e, decodePublished, encodePublished, httptransport.ServerErrorEncoder(encodePublishedError))
	}
	mux := http.NewServeMux()
	mux.Handle("/uppercase", http.MaxBytesHandler(server(publishedUppercase(service)), maxBodyBytes))
	mux.Handle("/count", http.MaxBytesHandler(server(publishedCount(service)), maxBodyBytes))
	mux.HandleFunc("GET /health", health)
	mux.Handle("GET /metrics", metrics)
	return mux
}

func decodePublished(_ context.Context, r *http.Request) (any, error) {
	var request textRequest
	err := json.NewDecoder(r.Body).Decode(&request)
	return request, err
}

// encodePublished sets no content type, as published: net/http takes the body for plain text.
func encodePublished(_ context.Context, w http.ResponseWriter, response any) error {
	return json.NewEncoder(w).Encode(response)
}

// encodePublishedError leaves all to go-kit, which answers 500, but the limit that the article did not have.
func encodePublishedError(ctx context.Context, err error, w http.ResponseWriter) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	httptransport.DefaultErrorEncoder(ctx, err, w)
}
