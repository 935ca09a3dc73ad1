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

// newRegistry holds the metrics of the Go runtime, of the process and of the connections to the
// database; the matched face adds its own.
func newRegistry(db *database) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(
			collectors.MetricsGC, collectors.MetricsMemory, collectors.MetricsScheduler)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		connectionsCollector{db},
	)
	return registry
}

var (
	openConnections = prometheus.NewDesc("db_connections", "Connections to the database that are open now.", []string{"state"}, nil)
	connectionsMade = prometheus.NewDesc("db_connections_opened_total", "Connections to the database that were made.", nil, nil)
)

// connectionsCollector asks the database for its connections when somebody scrapes.
type connectionsCollector struct {
	database *database
}

func (c connectionsCollector) Describe(into chan<- *prometheus.Desc) {
	into <- openConnections
	into <- connectionsMade
}

func (c connectionsCollector) Collect(into chan<- prometheus.Metric) {
	inUse, idle := c.database.connections()
	into <- prometheus.MustNewConstMetric(openConnections, prometheus.GaugeValue, float64(inUse), "in_use")
	into <- prometheus.MustNewConstMetric(openConnections, prometheus.GaugeValue, float64(idle), "idle")
	into <- prometheus.MustNewConstMetric(connectionsMade, prometheus.CounterValue, float64(c.database.opened.Load()))
}

func metricsHandler(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: log.Default()})
}

// observation is what is known about a request once it was answered.
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
	sink      io.Writer // nil: logging is off
	lost      sync.Once
	second    atomic.Pointer[second]
}

// second is the part of a timestamp that changes once a second, kept so that it is formatted once a second.
type second struct {
	unix int64
	text string
}

func newObserver(registry prometheus.Registerer, sink io.Writer) *observer {
	o := &observer{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "http_requests_total", Help: "Requests answered.",
		}, []string{"path", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_request_duration_seconds", Help: "Time from the first line of the handler to the answer.",
			Buckets: []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5},
		}, []string{"path"}),
		sink: sink,
	}
	registry.MustRegister(o.requests, o.durations)
	return o
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
// The line is made in the given bytes, if there are any, and they are returned to be used again.
func (p *pathObserver) observe(seen observation, line []byte) []byte {
	p.byStatus[seen.status].Inc()
	p.duration.Observe(seen.took.Seconds())
	if p.sink == nil {
		return line
	}
	if line == nil {
		line = make([]byte, 0, 192)
	}
	line = p.appendLogLine(line[:0], seen)
	if _, err := p.sink.Write(line); err != nil {
		p.lost.Do(func() { log.Printf("log lines are being lost: %v", err) })
	}
	return line
}

func (p *pathObserver) appendLogLine(line []byte, seen observation) []byte {
	line = append(line, "ts="...)
	line = p.appendTimestamp(line, seen.begin)
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

func (o *observer) appendTimestamp(line []byte, when time.Time) []byte {
	current := o.second.Load()
	if current == nil || current.unix != when.Unix() {
		current = &second{when.Unix(), when.UTC().Format("2006-01-02T15:04:05.")}
		o.second.Store(current)
	}
	line = append(line, current.text...)
	line = append(line, "000000Z"...)
	micros := when.Nanosecond() / 1_000
	for digit := len(line) - 2; micros > 0; digit-- {
		line[digit] += byte(micros % 10)
		micros /= 10
	}
	return line
}
