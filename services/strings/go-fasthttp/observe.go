// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"log"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newRegistry holds the metrics of the Go runtime and of the process; the face adds its own.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(
			collectors.MetricsGC, collectors.MetricsMemory, collectors.MetricsScheduler)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return registry
}

func metricsHandler(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: log.Default()})
}

// observation is what is known about a request when its answer is made and not yet sent.
type observation struct {
	method            string
	status            int
	bytesIn, bytesOut int64
	begin             time.Time
	took              time.Duration
}

// observer keeps the matched metrics and writes the matched log line.
type observer struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	sink      io.Writer     // nil: logging is off
	logger    requestLogger // nil: lines are written by hand
	second    atomic.Pointer[second]
	lost      sync.Once
}

func newObserver(registry prometheus.Registerer, sink io.Writer) *observer {
	o := &observer{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "http_requests_total", Help: "Requests answered.",
		}, []string{"path", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_request_duration_seconds", Help: "Time from the first line of the handler until the answer is made, before it is sent.",
			Buckets: []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5},
		}, []string{"path"}),
		sink: sink,
	}
	registry.MustRegister(o.requests, o.durations)
	return o
}

// second is the part of a timestamp that changes once a second, kept so that it is formatted once a second.
type second struct {
	unix int64
	text string
}

// pathObserver is the observer for one path, its metrics looked up once and for all.
type pathObserver struct {
	*observer
	path     string
	byStatus map[int]prometheus.Counter
	duration prometheus.Observer
}

func (o *observer) of(path string, statuses ...int) *pathObserver {
	p := &pathObserver{observer: o, path: path, byStatus: map[int]prometheus.Counter{}, duration: o.durations.WithLabelValues(path)}
	for _, status := range statuses {
		p.byStatus[status] = o.requests.WithLabelValues(path, strconv.Itoa(status))
	}
	return p
}

// observe counts a request and, when logging is on, writes its line with a single Write.
// It returns line, emptied, to be used again.
func (p *pathObserver) observe(seen observation, line []byte) []byte {
	p.byStatus[seen.status].Inc()
	p.duration.Observe(seen.took.Seconds())
	if p.sink == nil {
		return line
	}
	if p.logger != nil {
		p.logger(p.path, seen)
		return line
	}
	line = p.appendLogLine(line[:0], seen)
	if _, err := p.sink.Write(line); err != nil {
		p.lost.Do(func() { log.Printf("log lines are being lost: %v", err) })
	}
	return line[:0]
}

func (p *pathObserver) appendLogLine(line []byte, seen observation) []byte {
	line = append(line, "ts="...)
	line = p.appendTimestamp(line, seen.begin.Add(seen.took))
	line = append(line, " method="...)
	line = append(line, seen.method...)
	line = append(line, " path="...)
	line = append(line, p.path...)
	line = append(line, " status="...)
	line = strconv.AppendInt(line, int64(seen.status), 10)
	line = append(line, " bytes_in="...)
	line = strconv.AppendInt(line, seen.bytesIn, 10)
	line = append(line, " bytes_out="...)
	line = strconv.AppendInt(line, seen.bytesOut, 10)
	line = append(line, " took_us="...)
	line = strconv.AppendInt(line, seen.took.Microseconds(), 10)
	return append(line, '\n')
}

func (o *observer) appendTimestamp(line []byte, now time.Time) []byte {
	current := o.second.Load()
	if current == nil || current.unix != now.Unix() {
		current = &second{now.Unix(), now.UTC().Format("2006-01-02T15:04:05.")}
		o.second.Store(current)
	}
	line = append(line, current.text...)
	line = append(line, "000000Z"...)
	micros := now.Nanosecond() / 1_000
	for digit := len(line) - 2; micros > 0; digit-- {
		line[digit] += byte(micros % 10)
		micros /= 10
	}
	return line
}
