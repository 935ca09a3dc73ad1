// SPDX-License-Identifier: Apache-2.0

// Command go-pgx is the bank workload on net/http and the pgx pool.
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
)

const drainTime = 5 * time.Second

// Exit statuses.
const (
	fine = iota
	failed
	badUsage
)

type options struct {
	host        string
	port        int
	face        string
	craft       string
	logging     string
	logSink     string
	logFile     string
	connections string
	poolSize    int
	poolWaitMs  int
	statementDB string
	lean        bool
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
	if err == nil && !opts.lean {
		err = checkEnvironment()
	}
	if err != nil {
		fmt.Fprintf(stderr, "go-pgx: %v\n", err)
		return badUsage
	}
	if err := serve(ctx, opts, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "go-pgx: %v\n", err)
		return failed
	}
	return fine
}

const usage = "allowed: --host ADDRESS --port 0..65535 --face published|repaired|matched --craft idiomatic|tuned --logging off|on --log-sink null|file|pipe --log-file PATH " +
	"--connections per-statement|pool --pool-size 1..10000 --pool-wait-ms 1..600000 --statement-db published|defaults --lean"

// parseFlags reads --flag value and --flag=value.
func parseFlags(args []string) (options, error) {
	var opts options
	var port, poolSize, poolWaitMs string
	flags := flag.NewFlagSet("go-pgx", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&opts.host, "host", "127.0.0.1", "")
	flags.StringVar(&port, "port", "", "")
	flags.StringVar(&opts.face, "face", "matched", "")
	flags.StringVar(&opts.craft, "craft", "idiomatic", "")
	flags.StringVar(&opts.logging, "logging", "off", "")
	flags.StringVar(&opts.logSink, "log-sink", "null", "")
	flags.StringVar(&opts.logFile, "log-file", "", "")
	flags.StringVar(&opts.connections, "connections", "", "")
	flags.StringVar(&poolSize, "pool-size", "", "")
	flags.StringVar(&poolWaitMs, "pool-wait-ms", "10000", "")
	flags.StringVar(&opts.statementDB, "statement-db", "published", "")
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
	if opts.connections == "" {
		opts.connections = "pool"
		if opts.face == "published" {
			opts.connections = "per-statement"
		}
	}
	if poolSize == "" {
		poolSize = "20"
		if opts.face == "repaired" {
			poolSize = "95" // the rematch's own
		}
	}
	for _, one := range []struct {
		flag, value string
		low, high   int
		into        *int
	}{
		{"--port", port, 0, 65_535, &opts.port},
		{"--pool-size", poolSize, 1, 10_000, &opts.poolSize},
		{"--pool-wait-ms", poolWaitMs, 1, 600_000, &opts.poolWaitMs},
	} {
		number, err := strconv.Atoi(one.value)
		if err != nil || number < one.low || number > one.high {
			return opts, fmt.Errorf("%s %q; needed: a number from %d to %d", one.flag, one.value, one.low, one.high)
		}
		*one.into = number
	}
	for _, one := range []struct {
		flag, value string
		allowed     []string
	}{
		{"--face", opts.face, []string{"published", "repaired", "matched"}},
		{"--craft", opts.craft, []string{"idiomatic", "tuned"}},
		{"--logging", opts.logging, []string{"off", "on"}},
		{"--log-sink", opts.logSink, []string{"null", "file", "pipe"}},
		{"--connections", opts.connections, []string{"per-statement", "pool"}},
		{"--statement-db", opts.statementDB, []string{"published", "defaults"}},
	} {
		if !slices.Contains(one.allowed, one.value) {
			return opts, fmt.Errorf("%s %q; allowed: %s", one.flag, one.value, strings.Join(one.allowed, ", "))
		}
	}
	if opts.face == "repaired" && opts.connections != "pool" {
		return opts, fmt.Errorf("--connections %q with --face repaired; allowed: pool", opts.connections)
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
	handler := leanRoutes()
	if !opts.lean {
		db, err := openDatabase(opts)
		if err != nil {
			return err
		}
		defer db.close()
		handler = routes(opts, db, sink)
	}

	listener, err := net.Listen("tcp", net.JoinHostPort(opts.host, strconv.Itoa(opts.port)))
	if err != nil {
		return err
	}
	server := newServer(handler)
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
	if server.Shutdown(drain) != nil { // something took longer than it may
		_ = server.Close()
	}
	return nil
}

// newServer bounds how long a slow client may take to say what it wants; idle connections are kept.
func newServer(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: -1}
}

func routes(opts options, db *database, sink io.Writer) http.Handler {
	registry := newRegistry(db)
	switch opts.face {
	case "published":
		return publishedRoutes(published{database: db, sink: sink}, metricsHandler(registry))
	case "repaired":
		return repairedRoutes(published{database: db, sink: sink}, metricsHandler(registry))
	}
	return matchedRoutes(bank{db}.handlers(opts.craft), newObserver(registry, sink), metricsHandler(registry))
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
