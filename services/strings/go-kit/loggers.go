// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	kitlog "github.com/go-kit/log"
	"github.com/go-kit/log/level"
)

// loggers are the values of --logger: how the matched face writes the line of a request.
var loggers = []string{"by-hand", "slog-text", "slog-json", "logfmt"}

// requestLogger writes one line for one request.
type requestLogger func(path string, seen observation)

// newRequestLogger returns a logger as Go programs use it, with its own lock and one write a line;
// nil for "by-hand", and when logging is off.
func newRequestLogger(name string, sink io.Writer) requestLogger {
	if sink == nil {
		return nil
	}
	reporting := &reportingWriter{sink: sink}
	switch name {
	case "slog-text":
		return slogRequests(slog.NewTextHandler(reporting, nil))
	case "slog-json":
		return slogRequests(slog.NewJSONHandler(reporting, nil))
	case "logfmt":
		return kitRequests(kitlog.NewLogfmtLogger(kitlog.NewSyncWriter(reporting)))
	}
	return nil
}

func slogRequests(handler slog.Handler) requestLogger {
	logger := slog.New(handler)
	return func(path string, seen observation) {
		logger.LogAttrs(context.Background(), slog.LevelInfo, "request",
			slog.String("method", seen.method),
			slog.String("path", path),
			slog.Int("status", seen.status),
			slog.Int64("bytes_in", seen.bytesIn),
			slog.Int64("bytes_out", seen.bytesOut),
			slog.Int64("took_us", seen.took.Microseconds()))
	}
}

func kitRequests(to kitlog.Logger) requestLogger {
	logger := kitlog.With(to, "time", kitlog.DefaultTimestampUTC)
	return func(path string, seen observation) {
		_ = level.Info(logger).Log("msg", "request", // what cannot be written is told by the reportingWriter
			"method", seen.method,
			"path", path,
			"status", seen.status,
			"bytes_in", seen.bytesIn,
			"bytes_out", seen.bytesOut,
			"took_us", seen.took.Microseconds())
	}
}

// reportingWriter says once on stderr that lines are lost: slog keeps the error of a write to itself.
type reportingWriter struct {
	sink io.Writer
	lost sync.Once
}

func (w *reportingWriter) Write(line []byte) (int, error) {
	n, err := w.sink.Write(line)
	if err != nil {
		w.lost.Do(func() { log.Printf("log lines are being lost: %v", err) })
	}
	return n, err
}

// outliveReader keeps the process alive when the reader of its standard output is gone: a write then fails, which
// costs the line. Without this Go ends a program at its first write to a broken standard output.
func outliveReader(sink io.Writer) {
	if sink == os.Stdout {
		signal.Ignore(syscall.SIGPIPE)
	}
}
