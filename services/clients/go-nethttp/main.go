// SPDX-License-Identifier: Apache-2.0

// Command go-nethttp is the clients workload on Go's own HTTP server and client, and pgx.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run serves until ctx ends, and returns the exit status.
func run(ctx context.Context, args []string, env func(string) (string, bool), stdout, stderr io.Writer) int {
	opts, err := parseFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, usage)
		return fine
	}
	var behind backing
	if err == nil && !opts.lean {
		behind, err = readEnvironment(env)
	}
	if err != nil {
		fmt.Fprintf(stderr, "go-nethttp: %v\n", err)
		return badUsage
	}
	if err := serve(ctx, opts, behind, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "go-nethttp: %v\n", err)
		return failed
	}
	return fine
}

// serve returns nil when ctx ended and what was in flight was finished or given up.
func serve(ctx context.Context, opts options, behind backing, stdout, stderr io.Writer) error {
	sink, closeSink, err := openSink(opts, stdout)
	if err != nil {
		return err
	}
	defer closeSink()

	listener, err := net.Listen("tcp", net.JoinHostPort(opts.host, strconv.Itoa(opts.port)))
	if err != nil {
		return err
	}
	handler, closeBacking, err := routes(opts, behind, sink, stderr)
	if err != nil {
		_ = listener.Close()
		return err
	}
	defer closeBacking()
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

// routes returns what the face answers, and how to give back what it holds.
func routes(opts options, behind backing, sink, stderr io.Writer) (http.Handler, func(), error) {
	if opts.lean {
		return leanRoutes(), func() {}, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	pool, err := newPool(ctx, behind.database, opts.pool)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	s := &service{
		ctx: ctx, pool: pool, poolWait: opts.pool.wait, parallel: opts.calls == "parallel",
		tuned:      opts.craft == "tuned",
		turns:      turns{minorPercent: opts.minorPercent},
		complaints: &complaints{logger: log.New(stderr, "", log.LstdFlags|log.LUTC)},
	}
	published := opts.face == "published"
	if published {
		s.upstream = publishedUpstream(behind.upstream)
	} else {
		s.upstream = newUpstream(behind.upstream, opts.upstreamConnections, opts.upstreamTimeout)
	}
	closeBacking := func() {
		cancel() // first: whoever still works has to let go of a connection
		s.upstream.close()
		pool.Close()
	}
	registry := newRegistry()
	registerConnections(registry, pool, s.upstream.dialled)
	if published {
		return publishedRoutes(s, metricsHandler(registry)), closeBacking, nil
	}
	return matchedRoutes(s, newObserver(registry, sink), metricsHandler(registry)), closeBacking, nil
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
