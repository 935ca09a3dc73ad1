// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// busy is a handler that uses some 50 us of CPU time.
var busy = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	for begin := time.Now(); time.Since(begin) < 50*time.Microsecond; {
	}
	_, _ = w.Write(healthUp)
})

func TestTheDeclaredShareOfTheCPUTimeIsBurnt(t *testing.T) {
	if !hasCPUClock {
		t.Skip("needs the CPU clocks of Linux")
	}
	h := newHandicap(0.2, busy)
	request := httptest.NewRequest(http.MethodGet, "/health", nil)
	for range 4_000 {
		h.ServeHTTP(httptest.NewRecorder(), request)
	}
	if got := h.burnt.Seconds() / h.process().Seconds(); math.Abs(got-0.2) > 0.01 {
		t.Errorf("burnt %.4f of all CPU time", got)
	}
}

func TestWhatIsOwedMakesTheBurntPartTheShareOfAll(t *testing.T) {
	h := &handicap{share: 0.05, burnt: 2 * time.Second}
	owed := h.owed(100 * time.Second)
	if got := (h.burnt + owed).Seconds() / (100*time.Second + owed).Seconds(); math.Abs(got-0.05) > 1e-6 {
		t.Errorf("%.6f", got)
	}
	if h.owed(10*time.Second) > 0 {
		t.Error("owes although too much is burnt")
	}
}

func TestNoPaymentIsAStall(t *testing.T) {
	now := time.Duration(0)
	tick := func() time.Duration { now += 10 * time.Microsecond; return now }
	h := &handicap{share: 0.5, process: func() time.Duration { return time.Hour }, thread: tick}
	h.pay()
	if h.burnt < handicapAtOnce || h.burnt > 2*handicapAtOnce {
		t.Errorf("burnt %s at once", h.burnt)
	}
}

func TestABadHandicapIsNamed(t *testing.T) {
	for _, bad := range []string{"x", "-0.1", "0.6", "NaN"} {
		var stderr strings.Builder
		status := run(context.Background(), []string{"--port=0", "--handicap=" + bad}, io.Discard, &stderr)
		if status != badUsage || !strings.Contains(stderr.String(), "a share from 0 to 0.5") {
			t.Errorf("%s: status %d, %s", bad, status, stderr.String())
		}
	}
	if opts, err := parseFlags([]string{"--port=0", "--handicap=0.05"}); err != nil || opts.handicap != 0.05 {
		t.Errorf("%+v, %v", opts, err)
	}
}
