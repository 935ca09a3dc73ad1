// SPDX-License-Identifier: Apache-2.0

// Command upstream-api is the service that the clients workload asks for phones and addresses.
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

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
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
	delayMs int
	garbage bool
	epoll   bool
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
		fmt.Fprintf(stderr, "upstream-api: %v\n", err)
		return badUsage
	}
	if err := serve(ctx, opts, stderr); err != nil {
		fmt.Fprintf(stderr, "upstream-api: %v\n", err)
		return failed
	}
	return fine
}

const usage = "allowed: --host ADDRESS --port 0..65535 --delay-ms 0..600000 --garbage --server net-http|epoll"

// parseFlags reads --flag value and --flag=value.
func parseFlags(args []string) (options, error) {
	var opts options
	var port, delay, server string
	flags := flag.NewFlagSet("upstream-api", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&opts.host, "host", "127.0.0.1", "")
	flags.StringVar(&port, "port", "", "")
	flags.StringVar(&delay, "delay-ms", "0", "")
	flags.BoolVar(&opts.garbage, "garbage", false, "")
	flags.StringVar(&server, "server", "net-http", "")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return opts, err
		}
		return opts, fmt.Errorf("%w; %s", err, usage)
	}
	if flags.NArg() > 0 {
		return opts, fmt.Errorf("unexpected argument %q; %s", flags.Arg(0), usage)
	}
	for _, one := range []struct {
		flag, value string
		most        int
		into        *int
	}{
		{"--port", port, 65_535, &opts.port},
		{"--delay-ms", delay, 600_000, &opts.delayMs},
	} {
		number, err := strconv.Atoi(one.value)
		if err != nil || number < 0 || number > one.most {
			return opts, fmt.Errorf("%s %q; needed: a number from 0 to %d", one.flag, one.value, one.most)
		}
		*one.into = number
	}
	if opts.epoll = server == "epoll"; !opts.epoll && server != "net-http" {
		return opts, fmt.Errorf("--server %q; needed: net-http or epoll", server)
	}
	return opts, nil
}

// serve returns nil when ctx ended and what was in flight was finished or given up.
func serve(ctx context.Context, opts options, stderr io.Writer) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(opts.host, strconv.Itoa(opts.port)))
	if err != nil {
		return err
	}
	site := routes(opts)
	server, address := newServer(site), listener.Addr().(*net.TCPAddr)
	if opts.epoll {
		if listener, err = startEpoll(listener, site); err != nil {
			return err
		}
	}
	fmt.Fprintf(stderr, "listening host=%s port=%d\n", opts.host, address.Port)

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

func routes(opts options) *site {
	registry := prometheus.NewRegistry()
	served := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "upstream_answers_total", Help: "Phones and addresses given.",
	})
	registry.MustRegister(served, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: log.Default()})
	wanted := faults{delay: time.Duration(opts.delayMs) * time.Millisecond, garbage: opts.garbage}
	return newSite(wanted, served, metrics)
}

// newServer bounds how long a slow client may take to say what it wants; idle connections are kept.
func newServer(handler http.Handler) *http.Server {
	return &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: -1}
}
