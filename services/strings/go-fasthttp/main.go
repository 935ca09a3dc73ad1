// SPDX-License-Identifier: Apache-2.0

// Command go-fasthttp is the strings workload on fasthttp.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
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
	logSink string
	logFile string
	lean    bool
	// unobserved: no clock, counters and log line around an answer.
	unobserved bool
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
		fmt.Fprintf(stderr, "go-fasthttp: %v\n", err)
		return badUsage
	}
	if err := serve(ctx, opts, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "go-fasthttp: %v\n", err)
		return failed
	}
	return fine
}

const usage = "allowed: --host ADDRESS --port 0..65535 --face matched --craft idiomatic|tuned --logging off|on --log-sink null|file|pipe --log-file PATH --metrics on|off --lean"

// parseFlags reads --flag value and --flag=value.
func parseFlags(args []string) (options, error) {
	var opts options
	var port, metrics string
	flags := flag.NewFlagSet("go-fasthttp", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&opts.host, "host", "127.0.0.1", "")
	flags.StringVar(&port, "port", "", "")
	flags.StringVar(&opts.face, "face", "matched", "")
	flags.StringVar(&opts.craft, "craft", "tuned", "")
	flags.StringVar(&opts.logging, "logging", "off", "")
	flags.StringVar(&opts.logSink, "log-sink", "null", "")
	flags.StringVar(&opts.logFile, "log-file", "", "")
	flags.StringVar(&metrics, "metrics", "on", "")
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
	for _, one := range []struct {
		flag, value string
		allowed     []string
	}{
		{"--face", opts.face, []string{"matched"}},
		{"--craft", opts.craft, []string{"idiomatic", "tuned"}},
		{"--logging", opts.logging, []string{"off", "on"}},
		{"--log-sink", opts.logSink, []string{"null", "file", "pipe"}},
		{"--metrics", metrics, []string{"on", "off"}},
	} {
		if !slices.Contains(one.allowed, one.value) {
			return opts, fmt.Errorf("%s %q; allowed: %s", one.flag, one.value, strings.Join(one.allowed, ", "))
		}
	}
	opts.unobserved = metrics == "off"
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
	if sink == os.Stdout {
		signal.Ignore(syscall.SIGPIPE) // a line that nobody reads is lost, not the service
	}

	listener, err := net.Listen("tcp", net.JoinHostPort(opts.host, strconv.Itoa(opts.port)))
	if err != nil {
		return err
	}
	server := newServer(opts, sink)
	fmt.Fprintf(stderr, "listening host=%s port=%d\n", opts.host, listener.Addr().(*net.TCPAddr).Port)

	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	_ = server.ShutdownWithContext(drain) // what took longer than it may goes with the process
	return nil
}

// newServer sets as many deadlines for a request as net/http with a limit of its headers: two.
func newServer(opts options, sink io.Writer) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:               routes(opts, sink),
		ErrorHandler:          unreadable,
		ReadTimeout:           10 * time.Second,
		IdleTimeout:           300 * time.Second,
		MaxRequestBodySize:    mostReadBytes,
		NoDefaultServerHeader: true,
		CloseOnShutdown:       true,
		// A body is JSON whatever its content type says.
		DisablePreParseMultipartForm: true,
	}
}

func routes(opts options, sink io.Writer) fasthttp.RequestHandler {
	registry := newRegistry()
	if opts.lean {
		return leanRoutes(metricsHandler(registry))
	}
	if opts.unobserved {
		return matchedRoutes(nil, metricsHandler(registry), opts.craft)
	}
	return matchedRoutes(newObserver(registry, sink), metricsHandler(registry), opts.craft)
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
