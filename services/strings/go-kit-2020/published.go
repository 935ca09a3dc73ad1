// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-kit/kit/endpoint"
	"github.com/go-kit/kit/log"
	"github.com/go-kit/kit/log/level"
	"github.com/go-kit/kit/metrics"
	kitprometheus "github.com/go-kit/kit/metrics/prometheus"
	httptransport "github.com/go-kit/kit/transport/http"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const maxBodyBytes = 65536

// operations are the article's two methods. What wraps them has the same two, from inside out: work, log, measure.
type operations interface {
	Uppercase(s string) (string, error)
	Count(s string) int
}

type work struct{}

//lint:ignore ST1005 the published answer has the capital letter
var errEmpty = errors.New("Empty string")

func (work) Uppercase(s string) (string, error) {
	if s == "" {
		return "", errEmpty
	}
	return strings.ToUpper(s), nil
}

func (work) Count(s string) int { return len(s) }

// logged makes a line of every call, after it; a filter by level drops the line where logging is off.
type logged struct {
	operations
	logger log.Logger
}

func (l logged) Uppercase(s string) (output string, err error) {
	defer func(begin time.Time) {
		_ = l.logger.Log("method", "uppercase", "input", s, "output", output, "err", err, "took", time.Since(begin))
	}(time.Now())
	return l.operations.Uppercase(s)
}

func (l logged) Count(s string) (n int) {
	defer func(begin time.Time) {
		_ = l.logger.Log("method", "count", "input", s, "n", n, "took", time.Since(begin))
	}(time.Now())
	return l.operations.Count(s)
}

// leveled writes each line by one Write, without a lock or a buffer of its own.
func leveled(sink io.Writer, logging bool) log.Logger {
	allowed := level.AllowError()
	if logging {
		allowed = level.AllowInfo()
	}
	return level.Info(level.NewFilter(log.NewLogfmtLogger(sink), allowed))
}

// measured counts and times every call, with what the layer inside costs.
type measured struct {
	operations
	calls   metrics.Counter
	seconds metrics.Histogram
	lengths metrics.Histogram
}

func (m measured) Uppercase(s string) (output string, err error) {
	defer func(begin time.Time) { m.note("uppercase", err != nil, begin) }(time.Now())
	return m.operations.Uppercase(s)
}

func (m measured) Count(s string) (n int) {
	defer func(begin time.Time) {
		m.note("count", false, begin)
		m.lengths.Observe(float64(n))
	}(time.Now())
	return m.operations.Count(s)
}

func (m measured) note(method string, failed bool, begin time.Time) {
	labels := []string{"method", method, "error", strconv.FormatBool(failed)}
	m.calls.With(labels...).Add(1)
	m.seconds.With(labels...).Observe(time.Since(begin).Seconds())
}

// measure has the published names: the microseconds of one are seconds, and the subsystem of another is capital.
func measure(inner operations, registry prometheus.Registerer) measured {
	labels := []string{"method", "error"}
	calls := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "my_group", Subsystem: "string_service", Name: "request_count", Help: "Calls.",
	}, labels)
	seconds := prometheus.NewSummaryVec(prometheus.SummaryOpts{
		Namespace: "my_group", Subsystem: "string_service", Name: "request_latency_microseconds",
		Help: "Time of a call, in seconds in spite of the name.",
	}, labels)
	lengths := prometheus.NewSummaryVec(prometheus.SummaryOpts{
		Namespace: "my_group", Subsystem: "String_service", Name: "count_result", Help: "Answers of count.",
	}, nil)
	registry.MustRegister(calls, seconds, lengths)
	return measured{
		operations: inner,
		calls:      kitprometheus.NewCounter(calls),
		seconds:    kitprometheus.NewSummary(seconds),
		lengths:    kitprometheus.NewSummary(lengths),
	}
}

type question struct {
	S string `json:"s"`
}

type uppercaseAnswer struct {
	V   string `json:"v"`
	Err string `json:"err,omitempty"`
}

type countAnswer struct {
	V int `json:"v"`
}

func uppercaseOf(service operations) endpoint.Endpoint {
	return func(_ context.Context, asked interface{}) (interface{}, error) {
		output, err := service.Uppercase(asked.(question).S)
		if err != nil {
			return uppercaseAnswer{output, err.Error()}, nil
		}
		return uppercaseAnswer{V: output}, nil
	}
}

func countOf(service operations) endpoint.Endpoint {
	return func(_ context.Context, asked interface{}) (interface{}, error) {
		return countAnswer{service.Count(asked.(question).S)}, nil
	}
}

// routes is all that the program answers, with what the contract asks beside the article's two paths.
func routes(logger log.Logger, registry *prometheus.Registry) http.Handler {
	registry.MustRegister(
		prometheus.NewGoCollector(), prometheus.NewProcessCollector(prometheus.ProcessCollectorOpts{}),
	)
	service := measure(logged{work{}, logger}, registry)
	mux := http.NewServeMux()
	mux.Handle("/uppercase", served(uppercaseOf(service)))
	mux.Handle("/count", served(countOf(service)))
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, `{"status":"up"}`)
	})
	return mux
}

func served(e endpoint.Endpoint) http.Handler {
	server := httptransport.NewServer(e, decode, encode, httptransport.ServerErrorEncoder(refuse))
	return http.MaxBytesHandler(server, maxBodyBytes)
}

func decode(_ context.Context, r *http.Request) (interface{}, error) {
	var asked question
	err := json.NewDecoder(r.Body).Decode(&asked)
	return asked, err
}

// encode names no type of content, as published: net/http takes the answer for plain text.
func encode(_ context.Context, w http.ResponseWriter, answer interface{}) error {
	return json.NewEncoder(w).Encode(answer)
}

// refuse leaves all to go-kit, which says 500, but the limit, which the article had not.
func refuse(ctx context.Context, err error, w http.ResponseWriter) {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	httptransport.DefaultErrorEncoder(ctx, err, w)
}
