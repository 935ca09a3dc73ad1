// SPDX-License-Identifier: Apache-2.0

// Command go-raw answers every request with the same bytes, as fast as Go allows without tricks.
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
	"strconv"
	"syscall"
)

// Exit statuses.
const (
	fine = iota
	failed
	badUsage
)

const usage = "allowed: --host ADDRESS --port 0..65535 --body TEXT --wait sleep|spin"

type options struct {
	host string
	port int
	body string
	spin bool
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
		fmt.Fprintf(stderr, "go-raw: %v\n", err)
		return badUsage
	}
	if err := serve(ctx, opts, stderr); err != nil {
		fmt.Fprintf(stderr, "go-raw: %v\n", err)
		return failed
	}
	return fine
}

// parseFlags reads --flag value and --flag=value.
func parseFlags(args []string) (options, error) {
	var opts options
	var port, wait string
	flags := flag.NewFlagSet("go-raw", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&opts.host, "host", "127.0.0.1", "")
	flags.StringVar(&port, "port", "", "")
	flags.StringVar(&opts.body, "body", `{"v":"HELLO"}`, "")
	flags.StringVar(&wait, "wait", "sleep", "")
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
	if opts.spin = wait == "spin"; !opts.spin && wait != "sleep" {
		return opts, fmt.Errorf("--wait %q; needed: sleep or spin", wait)
	}
	return opts, nil
}

func serve(ctx context.Context, opts options, stderr io.Writer) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(opts.host, strconv.Itoa(opts.port)))
	if err != nil {
		return err
	}
	if opts.spin {
		if listener, err = spinning(listener); err != nil {
			return err
		}
	}
	fmt.Fprintf(stderr, "listening host=%s port=%d\n", opts.host, listener.Addr().(*net.TCPAddr).Port)
	service := newEcho(opts.body)
	served := make(chan error, 1)
	go func() { served <- service.serve(listener) }()
	<-ctx.Done()
	_ = listener.Close()
	<-served
	service.drain()
	return nil
}
