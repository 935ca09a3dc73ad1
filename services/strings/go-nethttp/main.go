// SPDX-License-Identifier: Apache-2.0

// Command go-nethttp is the strings workload on Go's own HTTP server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	kitlog "github.com/go-kit/log"
)

const drainTime = 5 * time.Second

// Exit statuses.
const (
	fine = iota
	failed
	badUsage
)

type options struct {
	host    string
	port    int
	face    string
	craft   string
	logging string
	logger  string
	logSink string
	logFile string
	lean    bool
	// unobserved: no clock, counters and log line around an answer.
	unobserved bool
	tls        bool
	// handicap is the share of all CPU time that is burnt, 0: none.
	handicap float64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run serves until ctx ends, and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := parseFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, usage)
		return fine
	}
	if err != nil {
		fmt.Fprintf(stderr, "go-nethttp: %v\n", err)
		return badUsage
	}
	if err := serve(ctx, opts, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "go-nethttp: %v\n", err)
		return failed
	}
	return fine
}

const usage = "allowed: --host ADDRESS --port 0..65535 --face published|matched --craft idiomatic|tuned --logging off|on --logger by-hand|slog-text|slog-json|logfmt --log-sink null|file|pipe --log-file PATH --metrics on|off --tls off|on --handicap 0..0.5 --lean"

// parseFlags reads --flag value and --flag=value.
func parseFlags(args []string) (options, error) {
	var opts options
	var port, handicap, metrics, secure string
	flags := flag.NewFlagSet("go-nethttp", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&opts.host, "host", "127.0.0.1", "")
	flags.StringVar(&port, "port", "", "")
	flags.StringVar(&opts.face, "face", "matched", "")
	flags.StringVar(&opts.craft, "craft", "tuned", "")
	flags.StringVar(&opts.logging, "logging", "off", "")
	flags.StringVar(&opts.logger, "logger", "by-hand", "")
	flags.StringVar(&opts.logSink, "log-sink", "null", "")
	flags.StringVar(&opts.logFile, "log-file", "", "")
	flags.StringVar(&metrics, "metrics", "on", "")
	flags.StringVar(&secure, "tls", "off", "")
	flags.StringVar(&handicap, "handicap", "0", "")
	flags.BoolVar(&opts.lean, "lean", false, "")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return opts, err
		}
		return opts, fmt.Errorf("%w; %s", err, usage)
	}
	if flags.NArg() > 0 {
		return opts, fmt.Errorf("unexpected argument %q; %s", flags.Arg(0), usage)
	}
	var err error
	if opts.port, err = strconv.Atoi(port); err != nil || opts.port < 0 || opts.port > 65535 {
		return opts, fmt.Errorf("--port %q; needed: a number from 0 to 65535", port)
	}
	if opts.handicap, err = parseHandicap(handicap); err != nil {
		return opts, err
	}
	if opts.handicap > 0 && !hasCPUClock {
		return opts, errNoCPUClock
	}
	for _, one := range []struct {
		flag, value string
		allowed     []string
	}{
		{"--face", opts.face, []string{"published", "matched"}},
		{"--craft", opts.craft, []string{"idiomatic", "tuned"}},
		{"--logging", opts.logging, []string{"off", "on"}},
		{"--logger", opts.logger, loggers},
		{"--log-sink", opts.logSink, []string{"null", "file", "pipe"}},
		{"--metrics", metrics, []string{"on", "off"}},
		{"--tls", secure, []string{"off", "on"}},
	} {
		if !slices.Contains(one.allowed, one.value) {
			return opts, fmt.Errorf("%s %q; allowed: %s", one.flag, one.value, strings.Join(one.allowed, ", "))
		}
	}
	opts.unobserved, opts.tls = metrics == "off", secure == "on"
	if opts.unobserved && opts.logging == "on" {
		return opts, errors.New("--logging on needs --metrics on: what is not observed is not logged")
	}
	if opts.logSink == "file" && opts.logFile == "" {
		return opts, errors.New("--log-sink file needs --log-file PATH")
	}
	return opts, nil
}

// serve returns nil when ctx ended and what was in flight was finished or given up.
func serve(ctx context.Context, opts options, stdout, stderr io.Writer) error {
	sink, closeSink, err := openSink(opts, stdout)
	if err != nil {
		return err
	}
	defer closeSink()
	outliveReader(sink)

	listener, err := net.Listen("tcp", net.JoinHostPort(opts.host, strconv.Itoa(opts.port)))
	if err != nil {
		return err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if opts.tls {
		if listener, err = secured(listener); err != nil {
			return err
		}
	}
	// No read or write time limit: a body is bounded by size, and 100 idle connections are the norm here.
	handler := routes(opts, sink)
	if opts.handicap > 0 {
		slowed := newHandicap(opts.handicap, handler)
		defer slowed.report(stderr)
		handler = slowed
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(stderr, "listening host=%s port=%d\n", opts.host, port)

	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if server.Shutdown(drain) != nil { // something took longer than it may
		_ = server.Close()
	}
	return nil
}

func routes(opts options, sink io.Writer) http.Handler {
	registry := newRegistry()
	if opts.lean {
		return leanRoutes(metricsHandler(registry))
	}
	if opts.face == "published" {
		var logger kitlog.Logger
		if sink != nil {
			logger = kitlog.NewLogfmtLogger(kitlog.NewSyncWriter(sink))
		}
		return publishedRoutes(logger, metricsHandler(registry))
	}
	if opts.unobserved {
		return matchedRoutes(nil, metricsHandler(registry), opts.craft)
	}
	observer := newObserver(registry, sink)
	observer.logger = newRequestLogger(opts.logger, sink)
	return matchedRoutes(observer, metricsHandler(registry), opts.craft)
}

// openSink returns where log lines go, nil when logging is off, and how to close it.
func openSink(opts options, stdout io.Writer) (io.Writer, func(), error) {
	if opts.logging == "off" || opts.lean {
		return nil, func() {}, nil
	}
	if opts.logSink == "pipe" {
		return stdout, func() {}, nil
	}
	path := os.DevNull
	if opts.logSink == "file" {
		path = opts.logFile
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, err
	}
	return file, func() { _ = file.Close() }, nil
}
