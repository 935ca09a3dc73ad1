// SPDX-License-Identifier: Apache-2.0

// Command go-kit-2020 is the published face of the strings workload on the libraries of its time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/ioutil"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const usage = "allowed: --host ADDRESS --port 0..65535 --face published --logging off|on --log-sink null|file|pipe --log-file PATH"

// Within the contract's 5 s.
const drainWithin = 5 * time.Second

type options struct {
	host, face, logging, logSink, logFile string
	port                                  int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(status)
}

// run serves until ctx ends; it returns 0, 1 after a failure, or 2 for flags that cannot be read.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	opts, err := parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "go-kit-2020: %v\n", err)
		return 2
	}
	if err := serve(ctx, opts, stderr); err != nil {
		fmt.Fprintf(stderr, "go-kit-2020: %v\n", err)
		return 1
	}
	return 0
}

// parse reads --flag value and --flag=value.
func parse(args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("go-kit-2020", flag.ContinueOnError)
	flags.SetOutput(ioutil.Discard)
	flags.StringVar(&opts.host, "host", "127.0.0.1", "")
	port := flags.String("port", "", "")
	flags.StringVar(&opts.face, "face", "", "")
	flags.StringVar(&opts.logging, "logging", "off", "")
	flags.StringVar(&opts.logSink, "log-sink", "null", "")
	flags.StringVar(&opts.logFile, "log-file", "", "")
	if err := flags.Parse(args); err != nil {
		return opts, fmt.Errorf("%v; %s", err, usage)
	}
	if flags.NArg() > 0 {
		return opts, fmt.Errorf("unexpected argument %q; %s", flags.Arg(0), usage)
	}
	number, err := strconv.ParseUint(*port, 10, 16)
	if err != nil {
		return opts, fmt.Errorf("--port %q; needed: a number from 0 to 65535", *port)
	}
	opts.port = int(number)
	switch {
	case opts.face != "published":
		return opts, fmt.Errorf("--face %q; this program has one face, needed: --face=published", opts.face)
	case opts.logging != "off" && opts.logging != "on":
		return opts, fmt.Errorf("--logging %q; allowed: off, on", opts.logging)
	case opts.logSink != "null" && opts.logSink != "file" && opts.logSink != "pipe":
		return opts, fmt.Errorf("--log-sink %q; allowed: null, file, pipe", opts.logSink)
	case opts.logSink == "file" && opts.logFile == "":
		return opts, errors.New("--log-sink file needs --log-file PATH")
	}
	return opts, nil
}

// serve returns nil when ctx ended and what was in flight was finished or given up.
func serve(ctx context.Context, opts options, stderr io.Writer) error {
	sink := stderr // the program's own stream: sink pipe, and where the level drops every line
	if opts.logging == "on" && opts.logSink != "pipe" {
		path := os.DevNull
		if opts.logSink == "file" {
			path = opts.logFile
		}
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		defer file.Close()
		sink = file
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(opts.host, strconv.Itoa(opts.port)))
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           routes(leveled(sink, opts.logging == "on"), prometheus.NewRegistry()),
		ReadHeaderTimeout: 10 * time.Second,
	}
	fmt.Fprintf(stderr, "listening host=%s port=%d\n", opts.host, listener.Addr().(*net.TCPAddr).Port)

	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.Background(), drainWithin)
	defer cancel()
	if server.Shutdown(drain) != nil {
		_ = server.Close()
	}
	return nil
}
