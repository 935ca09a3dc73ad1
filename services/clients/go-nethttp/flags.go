// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

type options struct {
	host    string
	port    int
	face    string
	craft   string // of the matched face: idiomatic or tuned
	logging string
	logSink string
	logFile string
	lean    bool
	calls   string // of a /hello: sequential or parallel

	minorPercent        uint64
	upstreamConnections int
	upstreamTimeout     time.Duration
	pool                poolSettings
}

const usage = "allowed: --host ADDRESS --port 0..65535 --face published|matched --craft idiomatic|tuned --logging off|on --log-sink null|file|pipe --log-file PATH --lean --calls sequential|parallel" +
	" --minor-percent 0..100 --upstream-connections 1..1000 --upstream-timeout-ms 1..600000 --pool-size 1..1000 --pool-min 0..1000 --pool-wait-ms 1..600000"

// numberFlag is a flag whose value is a whole number within bounds.
type numberFlag struct {
	name        string
	text        string
	least, most int
}

func (n *numberFlag) value() (int, error) {
	number, err := strconv.Atoi(n.text)
	if err != nil || number < n.least || number > n.most {
		return 0, fmt.Errorf("--%s %q; needed: a number from %d to %d", n.name, n.text, n.least, n.most)
	}
	return number, nil
}

// parseFlags reads --flag value and --flag=value.
func parseFlags(args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("go-nethttp", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&opts.host, "host", "127.0.0.1", "")
	flags.StringVar(&opts.face, "face", "matched", "")
	flags.StringVar(&opts.craft, "craft", "idiomatic", "")
	flags.StringVar(&opts.logging, "logging", "off", "")
	flags.StringVar(&opts.logSink, "log-sink", "null", "")
	flags.StringVar(&opts.logFile, "log-file", "", "")
	flags.BoolVar(&opts.lean, "lean", false, "")
	flags.StringVar(&opts.calls, "calls", "sequential", "")
	numbers := []*numberFlag{
		{"port", "", 0, 65_535},
		{"minor-percent", "0", 0, 100},
		{"upstream-connections", "30", 1, 1_000},
		{"upstream-timeout-ms", "5000", 1, 600_000},
		{"pool-size", "30", 1, 1_000},
		{"pool-min", "", 0, 1_000}, // absent: 5, or the pool size when that is smaller
		{"pool-wait-ms", "10000", 1, 600_000},
	}
	for _, number := range numbers {
		flags.StringVar(&number.text, number.name, number.text, "")
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return opts, err
		}
		return opts, fmt.Errorf("%w; %s", err, usage)
	}
	if flags.NArg() > 0 {
		return opts, fmt.Errorf("unexpected argument %q; %s", flags.Arg(0), usage)
	}
	if err := opts.setNumbers(numbers); err != nil {
		return opts, err
	}
	return opts, opts.checkWords()
}

func (o *options) setNumbers(numbers []*numberFlag) error {
	values := map[string]int{}
	for _, number := range numbers {
		if number.name == "pool-min" && number.text == "" {
			values["pool-min"] = min(5, values["pool-size"]) // read just before
			continue
		}
		value, err := number.value()
		if err != nil {
			return err
		}
		values[number.name] = value
	}
	o.port, o.minorPercent = values["port"], uint64(values["minor-percent"])
	o.upstreamConnections = values["upstream-connections"]
	o.upstreamTimeout = time.Duration(values["upstream-timeout-ms"]) * time.Millisecond
	o.pool = poolSettings{
		size: values["pool-size"], least: values["pool-min"],
		wait: time.Duration(values["pool-wait-ms"]) * time.Millisecond,
	}
	if o.pool.least > o.pool.size {
		return fmt.Errorf("--pool-min %d; needed: not above --pool-size %d", o.pool.least, o.pool.size)
	}
	return nil
}

func (o *options) checkWords() error {
	for _, one := range []struct {
		flag, value string
		allowed     []string
	}{
		{"--face", o.face, []string{"published", "matched"}},
		{"--craft", o.craft, []string{"idiomatic", "tuned"}},
		{"--logging", o.logging, []string{"off", "on"}},
		{"--log-sink", o.logSink, []string{"null", "file", "pipe"}},
		{"--calls", o.calls, []string{"sequential", "parallel"}},
	} {
		if !slices.Contains(one.allowed, one.value) {
			return fmt.Errorf("%s %q; allowed: %s", one.flag, one.value, strings.Join(one.allowed, ", "))
		}
	}
	if o.logSink == "file" && o.logFile == "" {
		return errors.New("--log-sink file needs --log-file PATH")
	}
	return nil
}
